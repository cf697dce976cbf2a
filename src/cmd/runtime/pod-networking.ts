import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Processes } from '#base/processes.ts'
import { shellProcesses } from '#base/shell-processes.ts'
import { chain, plugins } from '#network/cni/chain.ts'
import { runPlugin } from '#network/cni/run-plugin.ts'
import { CniNetworking } from '#runtime/sandboxes/cni-networking.ts'

/** Where configurations of networks lie, and programs for those plugins that are not ours. */
export type NetworkingPlace = { configDirectory: string; binDirectory: string }

/** The embedded runtime's pods are laid into their network by our own plugins without another process. */
export function podNetworking(
  place: NetworkingPlace,
  { clock, ...seams }: { files: Files; processes: Processes; clock: Clock },
): CniNetworking {
  const inside = { ...seams, processes: shellProcesses(seams.processes, clock, new Set(['ip', 'nsenter'])) }
  const own = Object.entries({ ...plugins, typernetes: chain }).map(([type, plugin]) => {
    return [type, (environment: Record<string, string>, input: string) => runPlugin(plugin, environment, input, inside)] as const
  })
  return new CniNetworking({ ...place, ...seams, ownPlugins: Object.fromEntries(own) })
}
