import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import { nodeProcesses, type Processes } from '#base/processes.ts'
import { forwarderProgram } from '#cmd/forward/forwarder-program.ts'
import { Bird } from '#network/bgp/bird-process.ts'
import type { BackendHelpers } from '#network/pod-network/pod-network-agent.ts'
import { ForwarderProcess } from '#network/udp/forwarder-process.ts'
import { WireguardTool } from '#network/wireguard/wireguard-tool.ts'

/** `processes`: where they run in another network namespace than this process. */
type Seams = { files: Files; clock: Clock; processes?: Processes }

/** The programs that join a node to others, each with its files in the node's directory. */
export function backendHelpers(directory: string, { files, clock, processes = nodeProcesses }: Seams): BackendHelpers {
  const place = { directory, files, clock, processes }
  return {
    bird: new Bird(place),
    forwarder: new ForwarderProcess({ ...place, program: forwarderProgram() }),
    wireguard: new WireguardTool(place),
  }
}

/** Ends those that outlive the kubelet, with what they have laid. */
export async function stopBackendHelpers(directory: string, seams: Seams): Promise<void> {
  const { bird, forwarder } = backendHelpers(directory, seams)
  await bird.stop()
  await forwarder.stop()
}
