import assert from 'node:assert/strict'
import { test } from 'node:test'
import { semanticEqual } from './equality.ts'

test('values compare by what they mean', () => {
  const cases: [one: unknown, other: unknown, equal: boolean][] = [
    [undefined, undefined, true],
    [undefined, null, true],
    [undefined, 0, false],
    [undefined, false, false],
    [undefined, '', false],
    [undefined, [], true],
    [1, 1, true],
    [1, '1', false],
    ['a', 'b', false],
    [[], [], true],
    [[1, 2], [1, 2], true],
    [[1, 2], [2, 1], false],
    [[1], [1, 1], false],
    [[], {}, false],
    [{}, [], false],
    [{ a: 1 }, { a: 1 }, true],
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [{ a: 1 }, {}, false],
    [{}, { a: 1 }, false],
    [{ a: undefined }, {}, true],
    [{}, { a: null }, true],
    [{ env: [] }, {}, true],
    [{ labels: {} }, {}, true],
    [{}, { nodeSelector: {} }, true],
    [{ labels: {} }, { labels: { a: '' } }, false],
    [{ emptyDir: {} }, {}, false],
    [{ resources: { limits: {} } }, { resources: {} }, true],
    [{ limits: { cpu: '1000m' } }, { limits: { cpu: '1' } }, true],
    [{ limits: { memory: '1Gi' } }, { limits: { memory: '1073741824' } }, true],
    [{ limits: { cpu: '1' } }, { limits: { cpu: '2' } }, false],
    [{ limits: { cpu: 'x' } }, { limits: { cpu: 'y' } }, false],
    [{ data: { cpu: '1000m' } }, { data: { cpu: '1' } }, false],
    [{ sizeLimit: '1024Mi' }, { sizeLimit: '1Gi' }, true],
    [{ name: 'A', value: '1000m' }, { name: 'A', value: '1' }, false],
    [{ annotations: { at: '2026-01-01T00:00:00Z' } }, { annotations: { at: '2026-01-01T00:00:00+00:00' } }, false],
    [{ at: '2026-01-01T00:00:00Z' }, { at: '2026-01-01T01:00:00+01:00' }, true],
    [{ at: '2026-01-01T00:00:00Z' }, { at: '2026-01-01T00:00:00.000000Z' }, true],
    [{ at: '2026-01-01T00:00:00.000001Z' }, { at: '2026-01-01T00:00:00.000002Z' }, false],
    [{ at: '2026-01-01T00:00:00Z' }, { at: '2026-01-01T00:00:01Z' }, false],
  ]
  for (const [one, other, equal] of cases) {
    const message = `${JSON.stringify(one)} ${JSON.stringify(other)}`
    assert.equal(semanticEqual(one, other), equal, message)
    assert.equal(semanticEqual(other, one), equal, message)
  }
})
