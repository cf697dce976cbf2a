import type { CgroupDriver } from '#kubelet/cgroups/pod-cgroups.ts'
import type { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'
import { cgroupDrivers } from '#wire/cri/cri-types.ts'

type ContainerdInfo = {
  containerd?: { runtimes?: Record<string, { options?: { SystemdCgroup?: boolean } | null }> }
  systemdCgroup?: boolean
}

/** How the runtime wants groups to be named and made. */
export async function cgroupDriver(client: Pick<CriClient, 'call'>): Promise<CgroupDriver> {
  const config = await client.call('runtimeConfig', {}).catch(() => undefined)
  if (config?.linux !== undefined) return config.linux.cgroupDriver === cgroupDrivers.systemd ? 'systemd' : 'cgroupfs'
  // Runtimes of before that call was made show their whole configuration.
  const { info } = await client.call('status', { verbose: true })
  const { containerd, systemdCgroup = false } = JSON.parse(info['config'] ?? '{}') as ContainerdInfo
  const isSystemd = Object.values(containerd?.runtimes ?? {}).some(({ options }) => options?.SystemdCgroup === true)
  return isSystemd || systemdCgroup ? 'systemd' : 'cgroupfs'
}
