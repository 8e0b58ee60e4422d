# SPDX-License-Identifier: Apache-2.0
# bash completion for memtape: the program itself knows its words.
_memtape() {
  local IFS=$'\n' word="${COMP_WORDS[COMP_CWORD]}"
  local -a words=("${COMP_WORDS[@]:1:COMP_CWORD}")
  # bash breaks --option=value at the =, and so do its replies.
  if [[ ${COMP_WORDS[COMP_CWORD]} == = ]]; then
    words=("${COMP_WORDS[@]:1:COMP_CWORD-1}" "")
    word=
  elif ((COMP_CWORD > 2)) && [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
    words=("${COMP_WORDS[@]:1:COMP_CWORD-2}" "$word")
  fi
  COMPREPLY=($(memtape __complete "${words[@]}" 2>/dev/null | cut -f1))
}
complete -o default -F _memtape memtape
