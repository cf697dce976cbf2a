import { type DescribedCommand, type DescribedFlag, takesClusterName, takesPath } from '#cmd/help/command-tree.ts'

export function zshCompletion(tree: readonly DescribedCommand[]): string {
  return `#compdef typernetes tn
# zsh completion of typernetes

_typernetes_clusters() {
  local -a names
  names=(\${(f)"$($words_of_typernetes[1] list -o name 2>/dev/null)"})
  compadd -a names
}

_typernetes_kubectl() {
  local -a lines
  lines=(\${(f)"$($words_of_typernetes[1] kubectl __complete "$@" 2>/dev/null)"})
  lines=(\${\${lines:#:*}//:/\\\\:})
  lines=(\${lines//$'\\t'/:})
  _describe kubectl lines
}

_typernetes() {
  local -a words_of_typernetes commands
  words_of_typernetes=($words)
  commands=(
${tree.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`).join('\n')}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local command=$words[2]
  case $command in
    kubectl) _typernetes_kubectl "\${(@)words[3,CURRENT]}"; return ;;
${tree
  .filter(({ name }) => name !== 'kubectl')
  .map((command) => topCase(command))
  .join('\n')}
    *) _typernetes_kubectl "\${(@)words[2,CURRENT]}" ;;
  esac
}

if [[ $funcstack[1] == _typernetes ]]; then _typernetes "$@"; else compdef _typernetes typernetes tn; fi
`
}

function topCase(command: DescribedCommand): string {
  if (command.commands.length === 0) return `    ${command.name}) shift words; (( CURRENT-- )); ${argumentsOf(command, '      ')} ;;`
  const names = command.commands.map((each) => quoted(`${lastWord(each.name)}:${each.summary}`))
  return `    ${command.name})
      if (( CURRENT == 3 )); then commands=(${names.join(' ')}); _describe command commands; return; fi
      command=$words[3]; shift 2 words; (( CURRENT -= 2 ))
      case $command in
${command.commands.map((each) => `        ${lastWord(each.name)}) ${argumentsOf(each, '          ')} ;;`).join('\n')}
      esac ;;`
}

function argumentsOf(command: DescribedCommand, indent: string): string {
  const rest = takesClusterName(command)
    ? [`'1:cluster:_typernetes_clusters'`]
    : command.arguments.length === 0
      ? []
      : [`'*:argument:_files'`]
  const specs = [...command.flags.flatMap(flagSpecs), ...rest]
  return `_arguments -s ${specs.map((spec) => `\\\n${indent}${spec}`).join(' ')}`
}

function flagSpecs(flag: DescribedFlag): string[] {
  const { long, short, placeholder, choices, help } = flag
  const note = help.replaceAll(/[[\]:\\]/g, ' ')
  const values = choices.length > 0 ? `(${choices.join(' ')})` : takesPath(flag) ? '_files' : ' '
  const value = placeholder === undefined ? '' : `:${placeholder}:${values}`
  const equals = placeholder === undefined ? '' : '='
  return [
    quoted(`${long}${equals}[${note}]${value}`),
    ...(short === undefined ? [] : [quoted(`${short}${placeholder === undefined ? '' : '+'}[${note}]${value}`)]),
  ]
}

const lastWord = (name: string): string => name.split(' ').at(-1) ?? ''
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
