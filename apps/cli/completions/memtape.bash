# SPDX-License-Identifier: Apache-2.0
# bash completion for memtape: the program itself knows its words.
_memtape() {
  local IFS=$'\n'
  COMPREPLY=($(memtape __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _memtape memtape
