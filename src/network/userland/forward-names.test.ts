import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SocketAddress, UdpSocket } from '#base/sockets.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { forwardNames } from '#network/userland/forward-names.ts'

type Asked = { host: string; question: string; answer(text: string): void; fail(): void; isClosed: boolean }

function world(nameServers: readonly string[]) {
  const asked: Asked[] = []
  const clock = new VirtualClock()
  const connectUdp = ({ host }: SocketAddress, onMessage: (message: Uint8Array) => void, onError: () => void): UdpSocket => {
    const one: Asked = { host, question: '', answer: (text) => onMessage(Buffer.from(text)), fail: onError, isClosed: false }
    asked.push(one)
    return {
      port: 0,
      send: (message) => {
        one.question = Buffer.from(message).toString()
      },
      close: () => {
        one.isClosed = true
      },
    }
  }
  const answers: string[] = []
  const forward = forwardNames(nameServers, { sockets: { connectUdp }, clock })
  return {
    asked,
    clock,
    answers,
    ask: (text: string) => forward(Buffer.from(text), (message) => answers.push(Buffer.from(message).toString())),
  }
}

test('a question goes to the first server, its answer back, and nothing stays open', () => {
  const { asked, answers, ask } = world(['192.0.2.1', '192.0.2.2'])
  ask('a?')
  assert.deepEqual([asked[0]?.host, asked[0]?.question], ['192.0.2.1', 'a?'])
  asked[0]?.answer('a!')
  asked[0]?.answer('once more')
  assert.deepEqual(answers, ['a!'])
  assert.deepEqual(
    asked.map(({ isClosed }) => isClosed),
    [true],
  )
})

test('the next server is asked where the first is silent or cannot be reached', async () => {
  const { asked, answers, clock, ask } = world(['192.0.2.1', '192.0.2.2', '192.0.2.3'])
  ask('a?')
  await clock.advance(5000)
  asked[1]?.fail()
  asked[2]?.answer('a!')
  assert.deepEqual(
    asked.map(({ host }) => host),
    ['192.0.2.1', '192.0.2.2', '192.0.2.3'],
  )
  assert.deepEqual(answers, ['a!'])
  assert.ok(asked.every(({ isClosed }) => isClosed))
})

test('a flood of questions is not passed on, and ends', async () => {
  const { asked, clock, ask } = world(['192.0.2.1'])
  for (let count = 0; count < 1500; count++) ask('a?')
  assert.equal(asked.length, 1000)
  await clock.advance(5000)
  ask('b?')
  assert.equal(asked.at(-1)?.question, 'b?')
})
