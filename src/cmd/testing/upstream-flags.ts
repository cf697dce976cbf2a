import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { flagName, type OptionDeclarations } from '#base/options.ts'

type Expectation = {
  options: OptionDeclarations
  /** Taken, and without effect here. */
  withoutEffect?: object
  /** Of the command itself. */
  ofCommand?: readonly string[]
  /** Defaults that differ on purpose; undefined where ours says the same in another way. */
  otherwise?: Readonly<Record<string, string | undefined>>
}

/** A fact about the flags of a component of upstream's. */
export function flagFacts(file: string): string {
  return readFileSync(join(import.meta.dirname, '..', '..', '..', 'facts', 'flags', file), 'utf8')
}

/** Every flag of the component is taken, and has its default where it has an effect. */
export function assertUpstreamFlags(component: string, { options, withoutEffect = {}, ofCommand = [], otherwise = {} }: Expectation): void {
  const upstream = flagFacts(`${component}.tsv`)
    .split('\n')
    .slice(1)
    .filter((line) => line !== '')
    .map((line) => line.split('\t'))
  const ours = new Map(Object.entries(options).map(([key, option]) => [flagName(key), option]))
  const others = new Set([...Object.keys(withoutEffect).map(flagName), 'help', 'version', ...ofCommand])
  assert.deepEqual(
    upstream.map(([flag = '']) => flag).filter((flag) => !ours.has(flag) && !others.has(flag)),
    [],
  )
  for (const [flag = '', , type, value = ''] of upstream) {
    const option = ours.get(flag)
    if (option === undefined) continue
    // The level of the log begins at 0, which upstream does not print.
    const given = type === 'Level' ? value || '0' : value.replace(/^"|"$|^\[|\]$/g, '')
    if (flag in otherwise) {
      if (otherwise[flag] !== undefined) assert.equal(option.default, otherwise[flag])
    } else if (type === 'duration' || Array.isArray(option.default)) assert.deepEqual(option.default, option.kind.parse(given), flag)
    else assert.equal(String(option.default), given, flag)
  }
}
