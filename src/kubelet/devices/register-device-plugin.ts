/** Device plugins that make themselves known by a socket in the registry directory, as drivers do. */
import type { DeviceManager } from '#kubelet/devices/device-manager.ts'
import { verifyPlugin } from '#kubelet/devices/registration-server.ts'
import type { PluginHandler } from '#kubelet/plugins/plugin-registration.ts'

export function devicePluginRegistration(devices: Pick<DeviceManager, 'register' | 'deregister'>): PluginHandler {
  return async ({ name, endpoint, supportedVersions }) => {
    verifyPlugin(name, supportedVersions)
    await devices.register(name, endpoint)
    return { stop: () => {}, gone: () => devices.deregister(name) }
  }
}
