import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flowsIn } from '#proxy/conntrack/conntrack-program.ts'
import { withoutClients } from '#proxy/conntrack/stale-flows.ts'

const line = (client: number) =>
  `udp      17 29 src=10.0.0.${client & 255} dst=10.96.0.10 sport=${client} dport=53 [UNREPLIED] src=10.244.0.2 dst=10.0.0.1 sport=53 dport=${client} mark=0 use=1`

test('many conversations are read in steps, and what one endpoint answers is ended at once', () => {
  const text = `${Array.from({ length: 10_000 }, (_, client) => line(client)).join('\n')}\n`
  const steps = flowsIn(text)
  let count = 0
  let next = steps.next()
  for (; !next.done; next = steps.next()) count++
  assert.ok(count >= 20, `${count} steps`)
  assert.equal(next.value.length, 10_000)
  assert.deepEqual(
    withoutClients(next.value).map(({ destination, destinationPort, replySource, replySourcePort }) => [
      ...[destination, destinationPort, replySource, replySourcePort],
    ]),
    [['10.96.0.10', 53, '10.244.0.2', 53]],
  )
})
