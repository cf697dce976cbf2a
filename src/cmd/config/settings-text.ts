/** Settings of `up` as a file that `--config` takes. */
import { flagName, type OptionDeclaration, type OptionDeclarations } from '#base/options.ts'
import { type UpOptions, upOptions } from '#cmd/up/options.ts'

const sources: Readonly<Record<string, string>> = { cli: 'flag', env: 'environment', config: '--config' }

/** What differs from the defaults, each with where it comes from. `detach` is of one start, not of a cluster. */
export function settingsText(values: UpOptions, sourceOf: (key: string) => string | undefined): string {
  const lines = Object.entries(values)
    .filter(([key]) => key in upOptions && key !== 'detach')
    .flatMap(([key, value]) => {
      const source = sources[sourceOf(key) ?? '']
      return source === undefined ? [] : [`${flagName(key)}: ${valueText(key, value)} # ${source}`]
    })
  return lines.length === 0 ? '# every setting has its default; typernetes config docs lists them' : lines.join('\n')
}

export function allSettingsText(): string {
  const entries = Object.entries(upOptions).filter(([key]) => key !== 'detach')
  return entries.map(([key, declaration]) => settingText(key, declaration)).join('\n\n')
}

function settingText(key: string, { help, choices, defaultText, default: value }: OptionDeclaration<unknown>): string {
  const notes = [
    ...(choices === undefined ? [] : [`one of ${choices.join(', ')}`]),
    ...(defaultText === undefined ? [] : [`default: ${defaultText}`]),
  ]
  return [`# ${notes.length === 0 ? help : `${help} (${notes.join('; ')})`}`, `# ${flagName(key)}: ${valueText(key, value)}`].join('\n')
}

/** JSON is YAML; plain words need no quotes. */
function valueText(key: string, given: unknown): string {
  const { kind } = (upOptions as OptionDeclarations)[key] ?? {}
  const value = kind?.show === undefined ? given : kind.show(given)
  if (typeof value === 'string' && /^[A-Za-z/][\w./-]*$/.test(value) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value)) return value
  return JSON.stringify(value)
}
