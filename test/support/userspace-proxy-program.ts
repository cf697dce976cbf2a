/** The proxy in plain sockets, in a network namespace of a test: told what to do a line of JSON at a time. */
import { createInterface } from 'node:readline'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { systemClock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { thisMachine } from '#base/machine.ts'
import { nodeProcesses } from '#base/processes.ts'
import { nodeSockets } from '#base/sockets.ts'
import { ServiceTable } from '#proxy/service-table/service-table.ts'
import { UserspaceBackend } from '#proxy/userspace/userspace-backend.ts'
import { ruleSettings } from './kernel-proxy.ts'

const table = new ServiceTable({ name: 'n1', zone: '' })
const backend = new UserspaceBackend({
  ...{ sockets: nodeSockets, processes: nodeProcesses, clock: systemClock, logger: silentLogger, settings: ruleSettings },
  ownAddresses: () => thisMachine().addresses(),
})
for await (const line of createInterface({ input: process.stdin })) {
  const { service, slices, isGone } = JSON.parse(line) as { service: V1Service; slices: V1EndpointSlice[]; isGone: boolean }
  if (isGone) table.deleteService(service)
  else table.setService(service)
  for (const slice of slices) table.setSlice(slice)
  await backend.sync(table, table.takeChanged(), false)
  process.stdout.write('done\n')
}
process.exit(0)
