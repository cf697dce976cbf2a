import type { Logger } from '#base/log.ts'
import type { DeviceRecord } from '#kubelet/devices/device-records.ts'
import type { ContainerExtras } from '#kubelet/runtimes/plans.ts'

/** What several plugins give a container, together. Where two give different things by one name, the first wins. */
export function runOptionsOf(records: readonly DeviceRecord[], logger: Logger): ContainerExtras {
  const first = <T>(kind: string, entries: Iterable<readonly [string, T]>, textOf: (value: T) => string): Map<string, T> => {
    const chosen = new Map<string, T>()
    for (const [key, value] of entries) {
      const before = chosen.get(key)
      if (before === undefined) chosen.set(key, value)
      else if (textOf(before) !== textOf(value)) {
        logger.error(`device plugins give a container different ${kind}`, { key, taken: textOf(before), left: textOf(value) })
      }
    }
    return chosen
  }
  const allocations = records.map(({ allocation }) => allocation)
  const asText = (text: string) => text
  const hostPath = (value: { hostPath: string }) => value.hostPath
  const envs = first(
    'environment variables',
    allocations.flatMap(({ envs: each }) => Object.entries(each)),
    asText,
  )
  const devices = first(
    'devices',
    allocations.flatMap(({ devices: each }) => each.map((device) => [device.containerPath, device] as const)),
    hostPath,
  )
  const mounts = first(
    'mounts',
    allocations.flatMap(({ mounts: each }) => each.map((mount) => [mount.containerPath, mount] as const)),
    hostPath,
  )
  const annotations = first(
    'annotations',
    allocations.flatMap(({ annotations: each }) => Object.entries(each)),
    asText,
  )
  return {
    env: [...envs].map(([name, value]) => ({ name, value })),
    devices: [...devices.values()],
    mounts: [...mounts.values()].map(({ containerPath, hostPath: path, readOnly }) => ({
      ...{ containerPath, hostPath: path, isReadOnly: readOnly },
    })),
    annotations: Object.fromEntries(annotations),
    cdiDevices: [...new Set(allocations.flatMap(({ cdiDevices }) => cdiDevices.map(({ name }) => name)))],
  }
}
