import { gatesWithoutEffect } from '#api/meta/gates-without-effect.ts'
import type { Logger } from '#base/log.ts'
import { type Command, flagName, type OptionDeclaration, type OptionDeclarations } from '#base/options.ts'

const withoutEffect: OptionDeclaration<string> = {
  kind: { parse: (value) => value },
  help: "upstream's; has no effect here",
  default: '',
}

/** Flags of upstream's that need no counterpart here, so that its command lines work as they are. Names are separated by spaces. */
export function flagsWithoutEffect(...lines: readonly string[]): OptionDeclarations {
  const keyOf = (flag: string) => flag.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
  return Object.fromEntries(lines.flatMap((line) => line.split(' ').map((flag) => [keyOf(flag), withoutEffect])))
}

/** Says once which of those were given. */
export function sayWithoutEffect(command: Command, declarations: OptionDeclarations, logger: Logger): void {
  const given = Object.keys(declarations).filter((key) => command.getOptionValueSource(key) === 'cli')
  if (given.length > 0) logger.warn('flags without effect', { flags: given.map((key) => `--${flagName(key)}`) })
}

/** Says once which feature gates change nothing in a component that has these `effective` ones. */
export function sayGatesWithoutEffect(given: readonly string[], effective: ReadonlySet<string>, logger: Logger): void {
  const idle = gatesWithoutEffect(given, effective)
  if (idle.length > 0) logger.warn('feature gates without effect', { featureGates: idle })
}
