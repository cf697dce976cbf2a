import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Logger } from '#base/log.ts'
import { checkVersions } from './component-versions.ts'

function said(emulated: string[], compatible: string[] = []): unknown[] {
  const lines: unknown[] = []
  const logger = { warn: (_: string, fields: { flags: string[] }) => lines.push(...fields.flags) } as unknown as Logger
  checkVersions({ emulatedVersion: emulated, minCompatibilityVersion: compatible }, logger)
  return lines
}

test('the version that there is needs no word, others are said to have no effect', () => {
  assert.deepEqual(said([]), [])
  assert.deepEqual(said(['1.36'], ['kube=1.35']), [])
  assert.deepEqual(said(['kube=1.35']), ['--emulated-version=1.35'])
  assert.deepEqual(said(['v1.34'], ['1.33']), ['--emulated-version=1.34', '--min-compatibility-version=1.33'])
})

for (const [emulated, compatible, message] of [
  ['foo', '', 'could not parse "foo" as version'],
  ['kube=', '', 'could not parse "" as version'],
  ['36', '', 'illegal version string "36"'],
  ['1.36.4', '', 'patch version not allowed, got: kube=1.36.4'],
  ['nosuch=1.36', '', 'component not registered: nosuch'],
  ['kube=1.36,kube=1.35', '', 'duplicate version flag, kube=1.36 and kube=1.35'],
  ['1.37', '', 'emulation version 1.37 is not between [1.33, 1.36.0]'],
  ['1.32', '', '[emulation version 1.32 is not between [1.33, 1.36.0], minCompatibilityVersion version 1.33 is not between [1.33, 1.32]]'],
  ['', '1.37', 'minCompatibilityVersion version 1.37 is not between [1.33, 1.36]'],
  ['1.34', '1.35', 'minCompatibilityVersion version 1.35 is not between [1.33, 1.34]'],
] as const)
  test(`--emulated-version=${emulated} --min-compatibility-version=${compatible} is refused in upstream's words`, () =>
    assert.throws(() => said([emulated], [compatible]), { message }))
