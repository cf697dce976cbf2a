import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import { nodeProcesses } from '#base/processes.ts'
import { forwarderProgram } from '#cmd/forward/forwarder-program.ts'
import { Bird } from '#network/bgp/bird-process.ts'
import type { BackendHelpers } from '#network/pod-network/pod-network-agent.ts'
import { ForwarderProcess } from '#network/udp/forwarder-process.ts'
import { WireguardTool } from '#network/wireguard/wireguard-tool.ts'

/** The programs that join a node to others, each with its files in the node's directory. */
export function backendHelpers(directory: string, { files, clock }: { files: Files; clock: Clock }): BackendHelpers {
  const place = { directory, files, clock, processes: nodeProcesses }
  return {
    bird: new Bird(place),
    forwarder: new ForwarderProcess({ ...place, program: forwarderProgram() }),
    wireguard: new WireguardTool(place),
  }
}

/** Ends those that outlive the node agent, with what they have laid. */
export async function stopBackendHelpers(directory: string, seams: { files: Files; clock: Clock }): Promise<void> {
  const { bird, forwarder } = backendHelpers(directory, seams)
  await bird.stop()
  await forwarder.stop()
}
