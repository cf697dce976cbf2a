import type { CsiCaller } from '#wire/csi/csi-driver.ts'
import { controllerRpcs, pluginServices } from '#wire/csi/csi-types.ts'

/** What a driver can do for the cluster as a whole. */
export type DriverAbilities = { [Name in keyof typeof controllerRpcs]: boolean } & {
  controller: boolean
  accessibilityConstraints: boolean
}

const callMs = 120_000

export async function driverAbilities(caller: CsiCaller): Promise<DriverAbilities> {
  const options = { timeoutMs: callMs }
  const { capabilities: services } = await caller.call('getPluginCapabilities', {}, options)
  const has = (type: number) => services.some(({ service }) => service?.type === type)
  const controller = has(pluginServices.controller)
  const { capabilities } = controller ? await caller.call('controllerGetCapabilities', {}, options) : { capabilities: [] }
  const types = new Set(capabilities.map(({ rpc }) => rpc?.type))
  const all = Object.entries(controllerRpcs).map(([ability, type]) => [ability, types.has(type)])
  return {
    ...(Object.fromEntries(all) as DriverAbilities),
    controller,
    accessibilityConstraints: has(pluginServices.accessibilityConstraints),
  }
}
