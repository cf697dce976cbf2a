/** The socket at which device plugins make themselves known: `device-plugins/kubelet.sock`. */
import { join } from 'node:path'
import { isExtendedResource } from '#api/core/v1/resource-names.ts'
import type { Files } from '#base/files.ts'
import { type GrpcServer, startGrpcServer } from '#base/grpc.ts'
import { devicePluginMethods } from '#wire/kubelet/device-plugin-messages.ts'

const devicePluginVersion = 'v1beta1'

export type RegistrationServerOptions = {
  directory: string
  files: Files
  /** Rejects where the plugin cannot be spoken to. */
  register(resource: string, socket: string): Promise<void>
}

/** Sockets of before are removed: plugins watch for that, and register again. */
export async function startRegistrationServer({ directory, files, register }: RegistrationServerOptions): Promise<GrpcServer> {
  await files.makeDirectory(directory, { mode: 0o750 })
  for (const name of await files.list(directory)) {
    const path = join(directory, name)
    if ((await files.stat(path))?.kind === 'socket') await files.remove(path)
  }
  const { path, decodeRequest, encodeResponse } = devicePluginMethods.register
  return startGrpcServer({
    address: `unix:${join(directory, 'kubelet.sock')}`,
    handlers: {
      [path]: {
        async answer(bytes) {
          const { version, endpoint, resourceName } = decodeRequest(bytes)
          verifyPlugin(resourceName, [version])
          await register(resourceName, join(directory, endpoint))
          return encodeResponse({})
        },
      },
    },
  })
}

/** Throws where this agent and the plugin have no version in common, or the name is not one that a plugin may offer. */
export function verifyPlugin(resource: string, versions: readonly string[]): void {
  if (!versions.includes(devicePluginVersion)) {
    throw new Error(
      `requested API version "${versions.join()}" is not supported by kubelet. Supported version is ["${devicePluginVersion}"]`,
    )
  }
  if (!isExtendedResource(resource)) throw new Error(`the ResourceName "${resource}" is invalid`)
}
