import assert from 'node:assert/strict'
import { test } from 'node:test'

type Act = () => Promise<void>
type Row = [act: Act] | [options: { skip?: string | false }, act: Act]

/** `test` for a suite of which only some tests may be asked for, by their names; absent: all. */
export function chosenRows(names: readonly string[] | undefined): ((name: string, ...row: Row) => void) & { assertAllKnown(): void } {
  const known = new Set<string>()
  const choose = (name: string, ...row: Row) => {
    known.add(name)
    if (names !== undefined && !names.includes(name)) return
    const [options, act] = row.length === 1 ? [{}, row[0]] : row
    void test(name, options, act)
  }
  const assertAllKnown = () => {
    for (const name of names ?? []) assert.ok(known.has(name), `there is no test ${name}`)
  }
  return Object.assign(choose, { assertAllKnown })
}
