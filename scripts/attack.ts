/**
 * Requests with lists and maps of thousands of entries, for every such field of every kind: `npm run attack`, or `npm run attack -- 20000`.
 * Prints the slowest, the largest answers, and for how long the server answered nobody. Fails where it answers 500, or too much, or not at all.
 */
import { attackAll, type Cost, send } from '../test/e2e/attack/attack-run.ts'
import { startCluster } from '../test/support/running-cluster.ts'

const counts = process.argv.slice(2).map(Number)
const answerLimitBytes = 2 << 20
await using cluster = await startCluster(['--store', 'memory', '--runtime-config', 'api/all=true'])
const resident = async () => Number(/^process_resident_memory_bytes (\S+)/m.exec((await send(cluster, 'GET', '/metrics')).text)?.[1] ?? 0)
const before = await resident()
const costs: Cost[] = []
for await (const cost of attackAll(cluster, counts.length === 0 ? [3000] : counts, () => true)) {
  costs.push(cost)
  if (costs.length % 1000 === 0) console.log(`${costs.length} requests`)
}
const shown = ({ field, variant, count, status, ms, sentBytes, answeredBytes }: Cost) =>
  `${String(Math.round(ms)).padStart(6)} ms  ${status}  ${sentBytes} -> ${answeredBytes} bytes  ${field.kind} ${field.path.join('.')} x ${count} ${variant}`
console.log(`${costs.length} requests; the slowest:`)
for (const cost of costs.toSorted((one, other) => other.ms - one.ms).slice(0, 25)) console.log(shown(cost))
console.log('the largest answers:')
for (const cost of costs.toSorted((one, other) => other.answeredBytes - one.answeredBytes).slice(0, 5)) console.log(shown(cost))
const stalls = (await send(cluster, 'GET', '/metrics')).text.match(/^apiserver_event_loop_stall.*$/gm) ?? []
console.log(`stalls of the event loop over 50 ms:\n${stalls.join('\n')}`)
console.log(`memory: ${Math.round(before / 2 ** 20)} MiB before, ${Math.round((await resident()) / 2 ** 20)} MiB after`)
const failed = costs.filter(({ status, answeredBytes }) => status >= 500 || answeredBytes > answerLimitBytes)
for (const cost of failed) console.error(`FAILED ${shown(cost)}`)
if (failed.length > 0) process.exitCode = 1
