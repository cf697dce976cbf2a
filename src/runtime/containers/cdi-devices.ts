/** Devices by name, as files of the container device interface (CDI) describe them: what a container gets with each of them. */

import { join } from 'node:path'
import { jsYaml } from '#api/codec/js-yaml.ts'
import type { Files } from '#base/files.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import { type ContainerConfig, propagations } from '#wire/cri/cri-types.ts'

type ContainerEdits = {
  env?: string[]
  deviceNodes?: { path: string; hostPath?: string; permissions?: string }[]
  mounts?: { hostPath: string; containerPath: string; options?: string[] }[]
  hooks?: unknown[]
}
type CdiSpec = { kind?: string; devices?: { name?: string; containerEdits?: ContainerEdits }[]; containerEdits?: ContainerEdits }

/** The later one wins where two describe the same device. */
const cdiDirectories: readonly string[] = ['/etc/cdi', '/var/run/cdi']

/** The configuration with what the devices bring. Rejects where one is not described, or brings what cannot be given. */
export async function withCdiDevices(
  config: ContainerConfig,
  files: Files,
  directories: readonly string[] = cdiDirectories,
): Promise<ContainerConfig> {
  const names = (config.cdiDevices ?? []).map(({ name }) => name)
  if (names.length === 0) return config
  const described = await describedDevices(files, directories)
  const missing = names.filter((name) => !described.has(name))
  if (missing.length > 0) {
    throw new GrpcError(grpcCodes.unknown, `CDI device injection failed: unresolvable CDI devices ${missing.join(', ')}`)
  }
  // What a file says of all its devices is given once.
  const edits = [...new Set(names.flatMap((name) => described.get(name) ?? []))]
  const hooked = edits.some(({ hooks = [] }) => hooks.length > 0)
  if (hooked) throw new GrpcError(grpcCodes.unimplemented, `CDI device injection failed: hooks are not run (${names.join(', ')})`)
  return {
    ...config,
    envs: [...(config.envs ?? []), ...edits.flatMap(({ env = [] }) => env.map(variableOf))],
    devices: [
      ...(config.devices ?? []),
      ...edits.flatMap(({ deviceNodes = [] }) =>
        deviceNodes.map(({ path, hostPath = path, permissions = 'rwm' }) => ({ containerPath: path, hostPath, permissions })),
      ),
    ],
    mounts: [
      ...(config.mounts ?? []),
      ...edits.flatMap(({ mounts = [] }) =>
        mounts.map(({ hostPath, containerPath, options = [] }) => ({
          ...{ hostPath, containerPath, readonly: options.includes('ro'), recursiveReadOnly: false },
          ...{ propagation: propagations.private, selinuxRelabel: false },
        })),
      ),
    ],
  }
}

const variableOf = (text: string): { key: string; value: Uint8Array } => {
  const mark = text.indexOf('=')
  return { key: mark < 0 ? text : text.slice(0, mark), value: Buffer.from(mark < 0 ? '' : text.slice(mark + 1)) }
}

/** By name (`vendor.com/class=name`): the file's own edits, and the device's. */
async function describedDevices(files: Files, directories: readonly string[]): Promise<Map<string, ContainerEdits[]>> {
  const described = new Map<string, ContainerEdits[]>()
  for (const directory of directories) {
    for (const file of await files.list(directory)) {
      if (!/\.(json|ya?ml)$/.test(file)) continue
      const spec = await readSpec(files, join(directory, file))
      for (const { name, containerEdits = {} } of spec?.devices ?? []) {
        described.set(`${spec?.kind}=${name}`, [...(spec?.containerEdits ? [spec.containerEdits] : []), containerEdits])
      }
    }
  }
  return described
}

/** Undefined where the file is no such description: others must not suffer for it. */
async function readSpec(files: Files, path: string): Promise<CdiSpec | undefined> {
  const text = await files.readTextIfPresent(path)
  if (text === undefined) return undefined
  try {
    const { load } = jsYaml()
    const spec = load(text)
    return spec !== null && typeof spec === 'object' ? (spec as CdiSpec) : undefined
  } catch {
    return undefined
  }
}
