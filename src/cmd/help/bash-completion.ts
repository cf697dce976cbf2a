import { type DescribedCommand, takesClusterName, takesPath } from '#cmd/help/command-tree.ts'

/** For the names that the package installs. Words that are no command of ours are kubectl's, which is asked. */
export function bashCompletion(tree: readonly DescribedCommand[]): string {
  return `# bash completion of typernetes
_typernetes_words() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }

_typernetes_kubectl() {
  local line
  while IFS= read -r line; do
    [[ $line == :* ]] || COMPREPLY+=("\${line%%$'\\t'*}")
  done < <("\${COMP_WORDS[0]}" kubectl __complete "$@" 2>/dev/null)
}

_typernetes() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  # Bash takes --flag=value for three words.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  if (( COMP_CWORD == 1 )); then _typernetes_words '${tree.map(({ name }) => name).join(' ')} help'; return; fi
  case \${COMP_WORDS[1]} in
${tree.map((command) => topCase(command)).join('\n')}
    help) _typernetes_words '${tree.map(({ name }) => name).join(' ')}' ;;
    *) _typernetes_kubectl "\${COMP_WORDS[@]:1:COMP_CWORD}" ;;
  esac
}

complete -o default -F _typernetes typernetes tn
`
}

function topCase(command: DescribedCommand): string {
  if (command.name === 'kubectl') return `    kubectl) _typernetes_kubectl "\${COMP_WORDS[@]:2:COMP_CWORD-1}" ;;`
  if (command.commands.length === 0) return `    ${command.name})\n${flagsOf(command, '      ')} ;;`
  const names = command.commands.map(({ name }) => lastWord(name))
  return `    ${command.name})
      if (( COMP_CWORD == 2 )); then _typernetes_words '${names.join(' ')}'; return; fi
      case \${COMP_WORDS[2]} in
${command.commands.map((each) => `        ${lastWord(each.name)})\n${flagsOf(each, '          ')} ;;`).join('\n')}
      esac ;;`
}

function flagsOf(command: DescribedCommand, indent: string): string {
  const namesOf = ({ long, short }: DescribedCommand['flags'][number]) => (short === undefined ? long : `${long}|${short}`)
  const choices = command.flags
    .filter((flag) => flag.choices.length > 0)
    .map((flag) => `${namesOf(flag)}) _typernetes_words '${flag.choices.join(' ')}'; return ;;`)
  const paths = command.flags.filter(takesPath).map(namesOf)
  const others = command.flags
    .filter((flag) => flag.placeholder !== undefined && !takesPath(flag) && flag.choices.length === 0)
    .map(namesOf)
  const cases = [
    ...choices,
    ...(paths.length === 0 ? [] : [`${paths.join('|')}) COMPREPLY=($(compgen -f -- "$cur")); return ;;`]),
    ...(others.length === 0 ? [] : [`${others.join('|')}) return ;;`]),
  ]
  const flags = command.flags.map(({ long }) => long).join(' ')
  const names = takesClusterName(command)
    ? `[[ $cur == -* ]] || { _typernetes_words "$("\${COMP_WORDS[0]}" list -o name 2>/dev/null)"; return; }`
    : ''
  return [
    ...(cases.length === 0 ? [] : ['case $prev in', ...cases.map((each) => `  ${each}`), 'esac']),
    ...(names === '' ? [] : [names]),
    `_typernetes_words '${flags} --help'`,
  ]
    .map((line) => indent + line)
    .join('\n')
}

const lastWord = (name: string): string => name.split(' ').at(-1) ?? ''
