import assert from 'node:assert/strict'
import { test } from 'node:test'
import { knownSignal } from '#runtime/containers/stop-signal.ts'

test('signals are known by name, short name and number; what is none ends a container as any other', () => {
  const rows: [string, string | number][] = [
    ['SIGQUIT', 'SIGQUIT'],
    ['QUIT', 'SIGQUIT'],
    ['15', 15],
    ['SIGRTMIN+3', 37],
    ['RTMAX-1', 63],
    ['SIGCLD', 'SIGCHLD'],
    ['', 'SIGTERM'],
    ['SIG', 'SIGTERM'],
    ['0', 'SIGTERM'],
    ['99', 'SIGTERM'],
    ['SIGRTMIN+90', 'SIGTERM'],
    ['; reboot', 'SIGTERM'],
  ]
  for (const [text, signal] of rows) assert.equal(knownSignal(text), signal, text)
})
