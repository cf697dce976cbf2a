/** Settings of a command, declared once: a flag, a key of the configuration file, an environment variable, a line of help. */

import { Command, InvalidArgumentError, Option } from 'commander'
import { lengthOfTimeMs } from '#base/duration.ts'

type OptionKind<T> = {
  /** What stands for the value in the help. Absent for switches. */
  placeholder?: string
  parse(text: string): T
}

export type OptionDeclaration<T> = {
  kind: OptionKind<T>
  help: string
  default: T
  /** One letter. */
  short?: string
  /** Shown instead of the default value. */
  defaultText?: string
  choices?: readonly string[]
}

// biome-ignore lint/suspicious/noExplicitAny: a set of options has values of all types
export type OptionDeclarations = Record<string, OptionDeclaration<any>>
export type OptionValues<D extends OptionDeclarations> = { [K in keyof D]: D[K] extends OptionDeclaration<infer T> ? T : never }

/** Only adds types. */
export function defineOptions<D extends OptionDeclarations>(declarations: D): D {
  return declarations
}

type Extras<T> = { short?: string; defaultText?: string; choices?: readonly string[]; placeholder?: string; default: T }

export function text(help: string, extras: Extras<string>): OptionDeclaration<string>
export function text(help: string, extras: Extras<string | undefined>): OptionDeclaration<string | undefined>
export function text(help: string, { placeholder = 'TEXT', ...extras }: Extras<string | undefined>): OptionDeclaration<string | undefined> {
  return { kind: { placeholder, parse: (value) => value }, help, ...extras }
}

export function wholeNumber(help: string, { placeholder = 'N', ...extras }: Extras<number>): OptionDeclaration<number> {
  const parse = (value: string) => {
    if (!/^-?\d+$/.test(value)) throw new InvalidArgumentError('It is not a whole number.')
    return Number(value)
  }
  return { kind: { placeholder, parse }, help, ...extras }
}

/** A number that need not be whole: a rate, a share. */
export function decimal(help: string, { placeholder = 'N', ...extras }: Extras<number>): OptionDeclaration<number> {
  const parse = (value: string) => {
    if (!/^-?(\d+\.?\d*|\.\d+)(e-?\d+)?$/i.test(value)) throw new InvalidArgumentError('It is not a number.')
    return Number(value)
  }
  return { kind: { placeholder, parse }, help, ...extras }
}

/** A length of time as Go writes it (`30s`, `1m30s`, `500ms`), in milliseconds. */
export function duration(help: string, { placeholder = 'TIME', ...extras }: Extras<number>): OptionDeclaration<number> {
  const parse = (value: string) => {
    const ms = lengthOfTimeMs(value)
    if (ms === undefined) throw new InvalidArgumentError('It is not a length of time such as 30s or 1m30s.')
    return ms
  }
  return { kind: { placeholder, parse }, help, ...extras }
}

/** `--name`, `--name=true`, `--name=false`. */
export function onOff(help: string, extras: Extras<boolean>): OptionDeclaration<boolean> {
  const parse = (value: string) => {
    if (value === 'true' || value === 'false') return value === 'true'
    throw new InvalidArgumentError('It is neither true nor false.')
  }
  return { kind: { parse }, help, ...extras }
}

/** Comma-separated, and may be given several times. */
export function list(help: string, { placeholder = 'LIST', ...extras }: Extras<readonly string[]>): OptionDeclaration<readonly string[]> {
  return { kind: { placeholder, parse: (value) => value.split(',').filter((part) => part !== '') }, help, ...extras }
}

/** `dataDir` is `--data-dir` and `TYPERNETES_DATA_DIR`. */
export function flagName(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

export function environmentName(key: string): string {
  return `TYPERNETES_${flagName(key).replaceAll('-', '_').toUpperCase()}`
}

/** Adds the flags to a command. */
export function addOptions(command: Command, declarations: OptionDeclarations): void {
  for (const [key, declaration] of Object.entries(declarations)) {
    const { kind, short, help, choices, defaultText } = declaration
    const value = kind.placeholder === undefined ? ' [true|false]' : ` <${kind.placeholder}>`
    const option = new Option(`${short ? `-${short}, ` : ''}--${flagName(key)}${value}`, help)
    option.preset('true').env(environmentName(key))
    option.argParser((given: string, previous: unknown) => {
      if (choices && !choices.includes(given)) throw new InvalidArgumentError(`Allowed are ${choices.join(', ')}.`)
      const parsed = kind.parse(given)
      return Array.isArray(parsed) && Array.isArray(previous) && previous !== declaration.default ? [...previous, ...parsed] : parsed
    })
    const shown = defaultText ?? (Array.isArray(declaration.default) ? declaration.default.join(',') : declaration.default)
    option.default(declaration.default, shown === undefined || shown === '' ? undefined : String(shown))
    command.addOption(option)
  }
  command.option('--config <FILE>', 'take settings from this YAML or JSON file; flags and environment variables go first')
}

/**
 * The values in force: a flag before the environment, that before the configuration file, that before the default.
 * Throws on keys of the file that are no setting.
 */
export function optionValues<D extends OptionDeclarations>(
  command: Command,
  declarations: D,
  file: Record<string, unknown> = {},
): OptionValues<D> {
  const values = { ...command.opts() }
  for (const [key, given] of Object.entries(file)) {
    const declaration = declarations[key]
    if (declaration === undefined) throw new Error(`the configuration file sets ${key}, which is no setting of this command; see --help`)
    if (command.getOptionValueSource(key) !== 'default') continue
    values[key] = Array.isArray(given) ? given.map(String) : declaration.kind.parse(String(given))
  }
  return values as OptionValues<D>
}

export { Command }
