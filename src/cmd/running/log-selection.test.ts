import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logSelection } from '#cmd/running/log-selection.ts'

const log = [
  'Store started (0.02 s)',
  '{"level":"info","time":"2026-01-01T10:00:00.000Z","component":"kube-apiserver","msg":"started"}',
  '{"level":"warn","time":"2026-01-01T10:00:05.000Z","component":"kubelet","pod":"default/web","msg":"failed to start"}',
  '    at a line of a trace',
  '{"level":"debug","time":"2026-01-01T10:01:00.000Z","component":"kubelet","msg":"looked"}',
  '{"level":"er',
]
const all = { components: [], level: 'debug', fromMs: 0 }

for (const [what, filter, numbers] of [
  ['everything', all, [0, 1, 2, 3, 4, 5]],
  ['a component, with or without kube-', { ...all, components: ['apiserver'] }, [1]],
  ['two components', { ...all, components: ['kube-apiserver', 'kubelet'] }, [1, 2, 3, 4, 5]],
  ['a level', { ...all, level: 'warn' }, [0, 2, 3]],
  ['a time', { ...all, fromMs: Date.parse('2026-01-01T10:00:05Z') }, [2, 3, 4, 5]],
] as const) {
  test(`what is shown of a log: ${what}`, () => {
    const select = logSelection(filter, undefined)
    assert.deepEqual(
      log.flatMap((line, index) => (select(line) === undefined ? [] : [index])),
      numbers,
    )
  })
}

test('as text, a record is a line for people', () => {
  const select = logSelection(all, { isColoured: false })
  assert.match(select(log[2] ?? '') ?? '', /^\d\d:\d\d:05 WARN {2}kubelet {12}failed to start {2}pod=default\/web$/)
})
