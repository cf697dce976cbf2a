/** A CSI driver that has made itself known to the node. */
import { quoted } from '#api/meta/check.ts'
import type { Clock } from '#base/clock.ts'
import { grpcChannel } from '#base/grpc.ts'
import type { CsiDrivers } from '#kubelet/csi/csi-drivers.ts'
import type { PluginHandler } from '#kubelet/plugins/plugin-registration.ts'
import { callerByClock } from '#wire/csi/caller-by-clock.ts'
import { callerOver } from '#wire/csi/csi-driver.ts'

/** As for every call of a driver. */
const callMs = 120_000

export function csiRegistration(drivers: CsiDrivers, clock: Clock): PluginHandler {
  return async ({ name, endpoint, supportedVersions }) => {
    if (!supportedVersions.some((version) => /^v?1\.\d+/.test(version))) {
      throw new Error(
        `driver ${quoted(name)} supports no version of CSI that this node does; its versions are ${JSON.stringify(supportedVersions)}`,
      )
    }
    const channel = await grpcChannel(`unix://${endpoint}`)
    try {
      const caller = callerByClock(callerOver(channel), clock)
      const { nodeId, maxVolumesPerNode = 0, accessibleTopology } = await caller.call('nodeGetInfo', {}, { timeoutMs: callMs })
      if (nodeId === '') throw new Error(`driver ${quoted(name)} gave no id of this node`)
      drivers.set({ name, caller, endpoint, nodeId, maxVolumes: maxVolumesPerNode, topology: accessibleTopology?.segments ?? {} })
    } catch (error) {
      channel[Symbol.dispose]()
      throw error
    }
    const stop = () => channel[Symbol.dispose]()
    return {
      stop,
      gone() {
        stop()
        drivers.remove({ name, endpoint })
      },
    }
  }
}
