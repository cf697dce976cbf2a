/** What components in pods are told of a cluster's options, where these differ from the usual ones, and which directories that takes. */
import { dirname, resolve } from 'node:path'
import { flagName, type OptionDeclaration, type OptionDeclarations } from '#base/options.ts'
import { type UpOptions, upOptions } from '#cmd/up/options.ts'

export type PassedFlags = {
  flags: readonly string[]
  /** Directories of the machine that the values name. */
  reads: readonly string[]
  writes: readonly string[]
}

const namesFile = (option: OptionDeclaration<unknown>): boolean => option.kind.placeholder === 'FILE'
const namesDirectory = (option: OptionDeclaration<unknown>): boolean => option.kind.placeholder === 'DIR'
/** Of what is written to, and not only read. */
const written: ReadonlySet<string> = new Set<keyof UpOptions>(['auditLogPath'])
/** Not a file, but what the program prints to. */
const standardOutput = '-'

/** `known`: the component's own. `settled`: what its manifest says in another way, or what is of no use to it. */
export function passedFlags(options: UpOptions, known: OptionDeclarations, settled: readonly (keyof UpOptions)[]): PassedFlags {
  const passed = Object.entries(upOptions as OptionDeclarations).filter(([name, { default: usual }]) => {
    if (known[name] === undefined || settled.includes(name as keyof UpOptions)) return false
    return JSON.stringify(options[name as keyof UpOptions]) !== JSON.stringify(usual)
  })
  const places = { reads: new Set<string>(), writes: new Set<string>() }
  const flags = passed.flatMap(([name, option]) => {
    const values = valuesOf(options[name as keyof UpOptions], option)
    const isFile = namesFile(option)
    if (!isFile && !namesDirectory(option)) return flagsOf(name, values)
    const paths = values.map((value) => (value === '' || value === standardOutput ? value : resolve(value)))
    for (const path of paths) {
      if (path.startsWith('/')) (written.has(name) ? places.writes : places.reads).add(isFile ? directoryOf(path) : path)
    }
    return flagsOf(name, paths)
  })
  return { flags, reads: [...places.reads], writes: [...places.writes] }
}

/** A file of the root directory is shown by itself. */
function directoryOf(path: string): string {
  const directory = dirname(path)
  return directory === '/' ? path : directory
}

function valuesOf(value: unknown, { kind }: OptionDeclaration<unknown>): string[] {
  const shown = (one: unknown) => kind.show?.(one) ?? String(one)
  return Array.isArray(value) ? value.map(shown) : [shown(value)]
}

/** Values with commas in them would be taken for several. */
function flagsOf(name: string, values: readonly string[]): string[] {
  const flag = `--${flagName(name)}`
  return values.some((value) => value.includes(',')) ? values.map((value) => `${flag}=${value}`) : [`${flag}=${values.join(',')}`]
}

/** The flags of a manifest, but for those that are passed with other values. */
export function withPassed(own: readonly string[], { flags }: PassedFlags): string[] {
  const nameOf = (flag: string) => flag.split('=', 1)[0]
  const names = new Set(flags.map(nameOf))
  return [...own.filter((flag) => !names.has(nameOf(flag))), ...flags]
}
