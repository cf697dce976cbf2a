/** A container as OCI runtimes want it described (config.json): what the own launcher would do, in their words. */
import { posix } from 'node:path'
import { defined } from '#base/defined.ts'
import { capabilityNames } from '#runtime/launch/capabilities.ts'
import type { BindMount, ContainerSpec } from '#runtime/launch/process-spec.ts'
import { ociSeccomp } from '#runtime/oci/oci-seccomp.ts'

export type OciContext = {
  /** Absent where the runtime is to leave cgroups alone: the container is in them already. */
  cgroup: string | undefined
  processor: 'amd64' | 'arm64'
  /** That of this process: some may not be given less. */
  ownOomScore: number
}

const cgroupMount = '/sys/fs/cgroup'

type OciMount = { destination: string; type: string; source: string; options: string[] }

/** Why a container is left to the own launcher; undefined where a runtime can run it. */
export function whyNotOci({ process, mounts, root, users, bindsSys, bindsProc }: ContainerSpec): string | undefined {
  if (users !== undefined) return 'its pod has users of its own'
  if (process.hasTerminal) return 'it has a terminal'
  if (mounts.some(({ source }) => typeof source !== 'string')) return 'it has volumes that are images'
  if (mounts.some(({ propagation }) => propagation !== 'private')) return 'mounts propagate to or from it'
  return root.parts !== undefined || bindsSys || bindsProc || root.hasUserAttributes ? 'it runs without root' : undefined
}

export function ociConfig(spec: ContainerSpec, { cgroup, processor, ownOomScore }: OciContext): object {
  const { process, root, isPrivileged } = spec
  const { args, env, directory, uid, gid, groups, capabilities, ambient, hasNoNewPrivileges, oomScoreAdjust, appArmorProfile } = process
  const all = capabilityNames(capabilities)
  const some = capabilityNames(ambient)
  return {
    ociVersion: '1.0.2',
    process: {
      ...{ terminal: false, user: { uid, gid, additionalGids: groups, umask: 0o022 }, args, env, cwd: directory },
      capabilities: { bounding: all, effective: all, permitted: all, inheritable: some, ambient: some },
      noNewPrivileges: hasNoNewPrivileges,
      ...defined({
        oomScoreAdj: oomScoreAdjust !== undefined && oomScoreAdjust >= ownOomScore ? oomScoreAdjust : undefined,
        apparmorProfile: appArmorProfile,
      }),
    },
    root: { path: root.mountPoint, readonly: root.isReadOnly },
    mounts: [...ownMounts(spec, cgroup !== undefined), ...spec.mounts.map(bindOf), ...spec.devices.map(deviceOf)],
    linux: {
      ...(cgroup !== undefined && {
        cgroupsPath: cgroup,
        resources: { devices: isPrivileged ? [{ allow: true, access: 'rwm' }] : devicesOf(spec) },
      }),
      namespaces: namespacesOf(spec),
      maskedPaths: spec.maskedPaths.map(({ path }) => path),
      readonlyPaths: spec.readonlyPaths,
      ...defined({ seccomp: process.seccompProfile && ociSeccomp(process.seccompProfile, processor) }),
    },
  }
}

function ownMounts(spec: ContainerSpec, mountsCgroups: boolean): OciMount[] {
  const { isPrivileged, hasNodeIpc, sharedMemory, hasCgroupNamespace } = spec
  const safe = ['nosuid', 'noexec', 'nodev']
  const how = isPrivileged ? [] : ['ro']
  const own = (destination: string, type: string, options: string[]) => ({ destination, type, source: type, options })
  return [
    own('/proc', 'proc', safe),
    own('/sys', 'sysfs', [...safe, ...how]),
    ...(hasCgroupNamespace ? (mountsCgroups ? [own(cgroupMount, 'cgroup', [...safe, 'relatime', ...how])] : cgroupBinds(spec)) : []),
    own('/dev', 'tmpfs', ['nosuid', 'strictatime', 'mode=755', 'size=65536k']),
    own('/dev/pts', 'devpts', ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620', 'gid=5']),
    own('/dev/mqueue', 'mqueue', safe),
    { destination: '/dev/shm', type: 'bind', source: hasNodeIpc ? '/dev/shm' : sharedMemory, options: ['rbind'] },
  ]
}

/** The container's own groups, as a mount in its cgroup namespace would show them. */
function cgroupBinds({ cgroups, cgroupProcs, isPrivileged }: ContainerSpec): OciMount[] {
  const options = ['rbind', 'rprivate', 'nosuid', 'noexec', 'nodev', isPrivileged ? 'rw' : 'ro']
  const bind = (source: string, destination: string) => ({ destination, type: 'bind', source, options })
  const [first = ''] = cgroupProcs
  if (cgroups.version === 2) return [bind(posix.dirname(first), cgroupMount)]
  const tmpfs = { destination: cgroupMount, type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'noexec', 'nodev', 'mode=755', 'size=64k'] }
  const places = new Map(cgroupProcs.map((path) => [path.split('/')[cgroupMount.split('/').length] ?? '', posix.dirname(path)]))
  return [tmpfs, ...[...places].map(([controller, source]) => bind(source, posix.join(cgroupMount, controller)))]
}

function bindOf({ source, target, isReadOnly, isRecursivelyReadOnly, isTrusted }: BindMount): OciMount {
  const limits = [...(isReadOnly ? ['ro'] : ['rw']), ...(isRecursivelyReadOnly ? ['rro'] : []), ...(isTrusted ? [] : ['nodev'])]
  return { destination: target, type: 'bind', source: String(source), options: ['rbind', 'rprivate', ...limits] }
}

const deviceOf = ({ source, target }: { source: string; target: string }): OciMount => ({
  ...{ destination: target, type: 'bind', source },
  options: ['bind', 'rprivate'],
})

function namespacesOf({ namespaces, pidNamespace, hasCgroupNamespace }: ContainerSpec): { type: string; path?: string }[] {
  const names = { net: 'network', ipc: 'ipc', uts: 'uts' } as const
  return [
    { type: 'mount' },
    ...namespaces.joins.map((kind) => ({ type: names[kind], path: `/proc/${namespaces.pid}/ns/${kind}` })),
    ...(pidNamespace === 'own' ? [{ type: 'pid' }] : []),
    ...(typeof pidNamespace === 'object' ? [{ type: 'pid', path: `/proc/${pidNamespace.pid}/ns/pid` }] : []),
    ...(hasCgroupNamespace ? [{ type: 'cgroup' }] : []),
  ]
}

/** As the device controller of cgroup v1 has them. */
function devicesOf({ cgroupRules }: ContainerSpec): object[] {
  const allowed = cgroupRules.flatMap(({ path, text }) => {
    const [, type, major = '*', minor = '*', access] = /^([abc]) (\d+|\*):(\d+|\*) (\w+)$/.exec(text) ?? []
    if (type === undefined || !path.endsWith('devices.allow')) return []
    const number = (value: string) => (value === '*' ? undefined : Number(value))
    return [{ allow: true, type, access, ...defined({ major: number(major), minor: number(minor) }) }]
  })
  return [{ allow: false, access: 'rwm' }, ...allowed]
}
