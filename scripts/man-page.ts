/** Man pages in roff: one of the program, one of each command. */
import type { DescribedCommand, DescribedFlag } from '#cmd/help/command-tree.ts'
import { kubernetesVersion, version } from '#cmd/version.ts'

/** By file name. */
export function manPages(tree: readonly DescribedCommand[]): Map<string, string> {
  const pages = new Map([['typernetes.1', programPage(tree)]])
  for (const command of tree) pages.set(`typernetes-${command.name}.1`, commandPage(command))
  return pages
}

function programPage(tree: readonly DescribedCommand[]): string {
  return page('typernetes', 'the whole of Kubernetes, in one program', [
    ...section('SYNOPSIS', '\\fBtypernetes\\fR \\fICOMMAND\\fR [\\fIFLAG\\fR …]'),
    ...section(
      'DESCRIPTION',
      literal(`A Kubernetes ${kubernetesVersion} cluster: \`typernetes up\` starts one, \`typernetes kubectl\` talks to it.`),
      '.PP',
      literal('What is no command here is one of kubectl: `tn get pods` is `typernetes kubectl get pods`.'),
    ),
    '.SH COMMANDS',
    ...tree.flatMap(({ name, summary }) => ['.TP', `\\fB${literal(name)}\\fR`, literal(summary)]),
    ...commonEnd,
    ...section('SEE ALSO', tree.map(({ name }) => `\\fBtypernetes\\-${literal(name)}\\fR(1)`).join(', ')),
  ])
}

function commandPage(command: DescribedCommand): string {
  const parts = command.commands.length === 0 ? [command] : command.commands
  const common = (flags: readonly DescribedFlag[]) => flags.filter(({ isCommon }) => isCommon)
  const rest = (flags: readonly DescribedFlag[]) => flags.filter(({ isCommon }) => !isCommon)
  return page(`typernetes-${command.name}`, command.summary, [
    '.SH SYNOPSIS',
    ...parts.flatMap((each) => [synopsis(each), '.br']),
    ...(command.commands.length === 0 ? [] : ['.SH COMMANDS', ...command.commands.flatMap(subcommand)]),
    ...(common(command.flags).length === 0 ? [] : ['.SH OPTIONS', ...common(command.flags).flatMap(flagEntry)]),
    ...(rest(command.flags).length === 0 ? [] : ['.SH MORE OPTIONS', ...rest(command.flags).flatMap(flagEntry)]),
    ...commonEnd,
    ...section('SEE ALSO', '\\fBtypernetes\\fR(1)'),
  ])
}

function subcommand(command: DescribedCommand): string[] {
  return ['.SS', literal(command.name), literal(command.summary), ...command.flags.flatMap(flagEntry)]
}

function synopsis({ name, arguments: args, flags }: DescribedCommand): string {
  const shown = args.map((each) => {
    const text = `\\fI${literal(each.name.toUpperCase())}\\fR${each.isRepeated ? ' …' : ''}`
    return each.isRequired ? text : `[${text}]`
  })
  return [`\\fBtypernetes ${literal(name)}\\fR`, ...(flags.length === 0 ? [] : ['[\\fIFLAG\\fR …]']), ...shown].join(' ')
}

function flagEntry({ long, short, placeholder, help, defaultText, variable }: DescribedFlag): string[] {
  const value = placeholder === undefined ? '' : ` \\fI${literal(placeholder)}\\fR`
  const notes = [
    ...(placeholder === undefined || defaultText === '' ? [] : [`default: ${defaultText}`]),
    ...(placeholder === undefined && defaultText === 'true' ? [`on unless ${long}=false`] : []),
    ...(variable === undefined ? [] : [`variable: ${variable}`]),
  ]
  const names = [short, long].filter((name) => name !== undefined).map((name) => `\\fB${literal(name)}\\fR`)
  return ['.TP', `${names.join(', ')}${value}`, literal(notes.length === 0 ? help : `${help} (${notes.join(', ')})`)]
}

const commonEnd = [
  '.SH EXIT STATUS',
  literal('0 when it was done; 1 when not, with a line on standard error that says why. `status` ends with 1 where no cluster runs.'),
  '.SH FILES',
  '.TP',
  literal('~/.local/share/typernetes'),
  literal('the cluster without a name; those with one are in clusters/ below it'),
]

function page(name: string, summary: string, body: readonly string[]): string {
  const head = `.TH "${name.toUpperCase().replaceAll('-', '\\-')}" "1" "" "typernetes ${version}" "Typernetes"`
  return `${[head, '.SH NAME', `${literal(name)} \\- ${literal(summary)}`, ...body].join('\n')}\n`
}

const section = (title: string, ...lines: string[]): string[] => [`.SH ${title}`, ...lines]

/** Text that roff takes for nothing else. */
function literal(text: string): string {
  const escaped = text.replaceAll('\\', '\\e').replaceAll('-', '\\-')
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped
}
