import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unitText } from '#cmd/systemd/unit-text.ts'

const started = (line: readonly string[]) => /^ExecStart=(.*)$/m.exec(unitText('/opt/a b/typernetes.js', line))?.[1]

test('every word of the command line reaches the program as it was', () => {
  assert.equal(
    started(['up', '--listen', '0.0.0.0', '--token', 'a"b\\c', '--data-dir', '/100% $HOME']),
    String.raw`"/opt/a b/typernetes.js" up --listen 0.0.0.0 --token "a\"b\\c" --data-dir "/100%% $$HOME"`,
  )
})

test('what ends by itself, or goes into the background by itself, is no service', () => {
  assert.throws(() => unitText('/tn', ['status']), /status does not run on/)
  assert.throws(() => unitText('/tn', ['up', '-d']), /-d: systemd looks after/)
})
