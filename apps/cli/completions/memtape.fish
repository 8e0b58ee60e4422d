# SPDX-License-Identifier: Apache-2.0
# fish completion for memtape: the program itself knows its words.
complete -c memtape -a '(set -l typed (commandline -opc) (commandline -ct); memtape __complete $typed[2..] 2>/dev/null)'
