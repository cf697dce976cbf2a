/** A container as CRI describes it, turned into what the launch needs to know. */
import { join, posix } from 'node:path'
import type { CgroupFiles } from '#base/cgroup-files.ts'
import { defined } from '#base/defined.ts'
import type { Files } from '#base/files.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import { type AllowedDevice, controllersFor, deviceRules, procsFiles } from '#runtime/cgroups/container-cgroup.ts'
import { type FoundUser, findUser } from '#runtime/containers/find-user.ts'
import { hostRootParts } from '#runtime/containers/host-root.ts'
import { imagePart } from '#runtime/containers/image-mounts.ts'
import type { StoredImage } from '#runtime/images/stored-image.ts'
import { capabilitiesOf } from '#runtime/launch/capabilities.ts'
import type { BindMount, ContainerSpec, ProcessSpec, UsersSpec } from '#runtime/launch/process-spec.ts'
import type { ContainerRecord, SandboxRecord } from '#runtime/records.ts'
import type { RuntimePaths } from '#runtime/runtime-paths.ts'
import { compileFilter, type FilterProfile } from '#runtime/seccomp/compile-filter.ts'
import { defaultProfile } from '#runtime/seccomp/default-profile.ts'
import { readProfile } from '#runtime/seccomp/read-profile.ts'
import { areSameUsers, hostIdOf, type PodUsers } from '#runtime/user-namespace.ts'
import {
  type ContainerConfig,
  type ContainerSecurityContext,
  type CriMount,
  namespaceModes,
  profileTypes,
  propagations,
} from '#wire/cri/cri-types.ts'

export type PlanContext = {
  paths: RuntimePaths
  files: Files
  cgroups: CgroupFiles | undefined
  processor: 'amd64' | 'arm64'
  /** What of root's power this process can hand on. */
  ownCapabilities: bigint
  /** In a user namespace, with few users to choose from. */
  isRootless: boolean
  /** Of this one user alone. */
  hasOneUser: boolean
}

/** Of the image and of the container, the latter's word counting. */
export function environmentOf(image: StoredImage, config: ContainerConfig, hostname: string): string[] {
  const variables = new Map<string, string>()
  const add = (text: string) => variables.set(text.split('=', 1)[0] ?? '', text)
  add('PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin')
  if (hostname !== '') add(`HOSTNAME=${hostname}`)
  if (config.tty) add('TERM=xterm')
  for (const text of image.config.Env ?? []) add(text)
  for (const { key, value } of config.envs ?? []) add(`${key}=${Buffer.from(value).toString()}`)
  return [...variables.values()]
}

export function argsOf(image: StoredImage, { command = [], args = [] }: ContainerConfig): string[] {
  const { Entrypoint, Cmd } = image.config
  const isImages = command.length === 0
  const all = [...(isImages ? (Entrypoint ?? []) : command), ...(isImages && args.length === 0 ? (Cmd ?? []) : args)]
  if (all.length === 0) throw new GrpcError(grpcCodes.invalidArgument, 'failed to generate container spec: no command specified')
  return all
}

export async function userOf(image: StoredImage, config: ContainerConfig, { files, hasOneUser }: PlanContext): Promise<FoundUser> {
  const {
    runAsUser,
    runAsUsername = '',
    runAsGroup,
    supplementalGroups = [],
    supplementalGroupsPolicy = 0,
  } = config.linux?.securityContext ?? {}
  const user = runAsUser !== undefined ? String(runAsUser.value) : runAsUsername || (image.config.User ?? '')
  const lists = { passwd: await fileOf(image, 'etc/passwd', files), group: await fileOf(image, 'etc/group', files) }
  const found = findUser(
    { user, ...defined({ gid: runAsGroup?.value }), groups: supplementalGroups, mergesGroups: supplementalGroupsPolicy === 0 },
    lists,
  )
  if (!hasOneUser || (found.uid === 0 && found.gid === 0)) return found
  throw new GrpcError(
    grpcCodes.failedPrecondition,
    `a container cannot run as user ${found.uid}, group ${found.gid}: the user namespace of this node has no other user than root; ranges of /etc/subuid and /etc/subgid, and newuidmap (on Debian: apt install uidmap), give it more`,
  )
}

/** The uppermost layer's that has it. Links are not followed: they could lead out of the image. */
async function fileOf({ layers }: StoredImage, path: string, files: Files): Promise<string> {
  for (const layer of layers.toReversed()) {
    const parent = await files.stat(join(layer, posix.dirname(path)))
    if (parent?.kind === 'symlink') return ''
    const found = await files.stat(join(layer, path))
    if (found?.kind === 'file' && found.sizeBytes < largestList) return files.readText(join(layer, path))
    if (found !== undefined) return ''
  }
  return ''
}

const largestList = 1 << 20

export async function processOf(
  record: Pick<ContainerRecord, 'env' | 'user'>,
  config: Omit<ContainerConfig, 'envs'>,
  image: StoredImage,
  context: PlanContext,
): Promise<ProcessSpec> {
  const security = config.linux?.securityContext ?? {}
  const isPrivileged = security.privileged ?? false
  const { addCapabilities = [], dropCapabilities = [], addAmbientCapabilities = [] } = security.capabilities ?? {}
  const own = context.ownCapabilities
  const capabilities = capabilitiesOf({ isPrivileged, add: addCapabilities, drop: dropCapabilities }, own)
  const ambient =
    addAmbientCapabilities.length === 0 ? 0n : capabilitiesOf({ isPrivileged: false, add: addAmbientCapabilities, drop: ['ALL'] }, own)
  const seccompProfile = isPrivileged ? undefined : await profileOf(security, capabilities, context)
  const seccompFilter = seccompProfile && compileFilter(seccompProfile, context.processor)
  const { uid, gid, groups } = record.user
  const home = record.env.some((variable) => variable.startsWith('HOME=')) ? [] : [`HOME=${uid === 0 ? '/root' : '/'}`]
  return {
    args: argsOf(image, config),
    env: [...record.env, ...home],
    directory: config.workingDir || image.config.WorkingDir || '/',
    ...{ uid, gid, groups, capabilities, ambient: ambient & capabilities },
    hasNoNewPrivileges: security.noNewPrivs ?? false,
    ...defined({
      seccompFilter,
      seccompProfile,
      oomScoreAdjust: config.linux?.resources?.oomScoreAdj,
      appArmorProfile: appArmorOf(security),
    }),
    hasTerminal: config.tty ?? false,
    maySetGroups: !context.hasOneUser,
  }
}

async function profileOf(
  { seccomp }: ContainerSecurityContext,
  capabilities: bigint,
  { files, processor }: PlanContext,
): Promise<FilterProfile | undefined> {
  const { profileType = profileTypes.Unconfined, localhostRef = '' } = seccomp ?? {}
  if (profileType === profileTypes.Unconfined) return undefined
  if (profileType === profileTypes.RuntimeDefault) return defaultProfile(capabilities, processor)
  const text = await files.readTextIfPresent(localhostRef)
  if (text === undefined)
    throw new GrpcError(grpcCodes.invalidArgument, `cannot load seccomp profile "${localhostRef}": no such file or directory`)
  return readProfile(text, capabilities, processor)
}

function appArmorOf({ apparmor }: ContainerSecurityContext): string | undefined {
  if (apparmor?.profileType !== profileTypes.Localhost) return undefined
  return (apparmor.localhostRef ?? '').replace(/^localhost\//, '')
}

export type ContainerParts = {
  image: StoredImage
  process: ProcessSpec
  target: ContainerRecord | undefined
  findImage(name: string): StoredImage | undefined
}

export async function containerSpec(
  record: ContainerRecord,
  sandbox: SandboxRecord,
  { image, process, target, findImage }: ContainerParts,
  context: PlanContext,
): Promise<ContainerSpec> {
  const { paths, files, cgroups, isRootless } = context
  const security = record.config.linux?.securityContext ?? {}
  const modes = security.namespaceOptions ?? {}
  const isPrivileged = security.privileged ?? false
  const own = paths.container(record.id)
  const place = paths.sandbox(sandbox.id)
  const devices = isPrivileged
    ? await allDevices(files)
    : (record.config.devices ?? []).map((device) => ({ source: device.hostPath, target: device.containerPath }))
  const controllers = cgroups === undefined ? [] : controllersFor(cgroups, record.resources)
  const groups = cgroups === undefined ? [] : procsFiles(cgroups, record.cgroup, controllers)
  return {
    process,
    root: {
      lowerDirectories: image.layers.toReversed(),
      upperDirectory: own.upper,
      workDirectory: own.work,
      mountPoint: own.root,
      isReadOnly: security.readonlyRootfs ?? false,
      hasUserAttributes: isRootless,
      ...(isRootless && image.layers[0] === '/' ? { parts: await hostRootParts(record.id, paths, files) } : {}),
    },
    isPrivileged,
    namespaces: { pid: sandbox.process.pid, joins: (['net', 'ipc', 'uts'] as const).filter((kind) => isShared(kind, modes)) },
    ...defined({ users: usersSpec(record, sandbox) }),
    pidNamespace: pidNamespaceOf(modes.pid ?? 0, sandbox, target),
    cgroupProcs: groups,
    cgroupRules:
      cgroups === undefined || isPrivileged || isRootless
        ? []
        : deviceRules(cgroups, record.cgroup, await allowedDevices(record.config, files)),
    // Of the others it would see those of the whole machine.
    cgroups: { version: cgroups?.version ?? 2, controllers },
    mounts: await bindsOf(record, place, files, findImage),
    sharedMemory: place.sharedMemory,
    hasNodeIpc: modes.ipc === namespaceModes.node,
    devices,
    maskedPaths: isPrivileged ? [] : await presentPaths(security.maskedPaths ?? [], files),
    readonlyPaths: isPrivileged ? [] : (await presentPaths(security.readonlyPaths ?? [], files)).map(({ path }) => path),
    // Whose network it shares must be ours for a file system of it to be mounted.
    bindsSys: isRootless && modes.network === namespaceModes.node,
    bindsProc: isRootless && modes.pid === namespaceModes.node,
    hasCgroupNamespace: groups.length > 0,
    hasStdin: record.config.stdin ?? false,
    agentLock: paths.lock,
    leftovers: { stdout: own.leftover('stdout'), stderr: own.leftover('stderr') },
  }
}

function isShared(kind: 'net' | 'ipc' | 'uts', { network, ipc }: { network?: number; ipc?: number }): boolean {
  if (kind === 'ipc') return ipc !== namespaceModes.node
  return network !== namespaceModes.node
}

function pidNamespaceOf(mode: number, sandbox: SandboxRecord, target: ContainerRecord | undefined): ContainerSpec['pidNamespace'] {
  if (mode === namespaceModes.node) return 'node'
  if (mode === namespaceModes.pod) return { pid: sandbox.process.pid }
  if (mode === namespaceModes.target && target?.process !== undefined) return { pid: target.process.pid }
  return 'own'
}

function usersSpec({ users, user }: ContainerRecord, { process }: SandboxRecord): UsersSpec | undefined {
  if (users === undefined) return undefined
  const root = { uid: hostIdOf(users.uids, 0) ?? 0, gid: hostIdOf(users.gids, 0) ?? 0 }
  const processUid = hostIdOf(users.uids, user.uid)
  const isKnown = processUid !== undefined && [user.gid, ...user.groups].every((group) => hostIdOf(users.gids, group) !== undefined)
  if (!isKnown) throw new Error(`the user ${user.uid}, its group ${user.gid} or one of its groups is not in the user namespace of the pod`)
  return { namespacePath: `/proc/${process.pid}/ns/user`, root, processUid }
}

/** A mount whose files are to belong to other users than the pod's cannot be made. */
function isMapped({ uidMappings = [], gidMappings = [], hostPath }: CriMount, users: PodUsers | undefined): boolean {
  if (uidMappings.length === 0 && gidMappings.length === 0) return false
  if (users !== undefined && areSameUsers({ uids: uidMappings, gids: gidMappings }, users)) return true
  throw new Error(`the mappings of users of the mount ${hostPath} are not those of the pod`)
}

async function bindsOf(
  { config, users }: Pick<ContainerRecord, 'config' | 'users'>,
  sandbox: ReturnType<RuntimePaths['sandbox']>,
  files: Files,
  findImage: ContainerParts['findImage'],
): Promise<BindMount[]> {
  const isPrivileged = config.linux?.securityContext?.privileged ?? false
  const own = {
    isRecursivelyReadOnly: false,
    propagation: 'private' as const,
    isTrusted: false,
    isFile: true,
    isMapped: users !== undefined,
  }
  const mounts: BindMount[] = []
  const given = new Set((config.mounts ?? []).map(({ containerPath }) => posix.normalize(containerPath)))
  const isReadOnly = config.linux?.securityContext?.readonlyRootfs ?? false
  for (const [source, target] of [
    [sandbox.hostname, '/etc/hostname'],
    [sandbox.resolvConf, '/etc/resolv.conf'],
  ] as const) {
    if (!given.has(target) && (await files.stat(source)) !== undefined) mounts.push({ ...own, source, target, isReadOnly })
  }
  for (const mount of config.mounts ?? []) {
    mustNotHideProc(mount)
    if (mount.image !== undefined) {
      const { isFile, ...source } = await imagePart(mount, findImage, files)
      mounts.push({ ...own, isFile, source, target: posix.normalize(`/${mount.containerPath}`), isReadOnly: true })
      continue
    }
    let found = await files.statTarget(mount.hostPath)
    if (found === undefined) {
      // As other runtimes do: a path on the node that is not there becomes a directory.
      await files.makeDirectory(mount.hostPath, { mode: 0o755 })
      found = await files.statTarget(mount.hostPath)
    }
    mounts.push({
      source: mount.hostPath,
      target: posix.normalize(`/${mount.containerPath}`),
      isFile: found?.kind !== 'directory',
      isReadOnly: mount.readonly ?? false,
      isRecursivelyReadOnly: mount.recursiveReadOnly ?? false,
      propagation: propagationNames[mount.propagation ?? propagations.private] ?? 'private',
      isTrusted: isPrivileged,
      isMapped: isMapped(mount, users),
    })
  }
  // What lies in another comes after it.
  return mounts.sort((one, other) => one.target.split('/').length - other.target.split('/').length)
}

/** Those that tell of the machine, and that some programs (lxcfs) tell otherwise. */
const replaceable = ['cpuinfo', 'diskstats', 'meminfo', 'stat', 'swaps', 'uptime', 'loadavg', 'slabinfo', 'net/dev']
const alsoReplaceable = ['sys/kernel/ns_last_pid', 'sys/crypto/fips_enabled']

/** A process is confined by what is written to files there: another file in their place would take it, and nobody would be confined. */
function mustNotHideProc({ containerPath, hostPath }: CriMount): void {
  const target = posix.resolve('/', containerPath)
  if (target === '/proc') {
    if (posix.resolve('/', hostPath) !== '/proc') throw new Error(`"${target}" cannot be mounted because it is not of type proc`)
  } else if (target.startsWith('/proc/') && ![...replaceable, ...alsoReplaceable].includes(target.slice('/proc/'.length)))
    throw new Error(`"${target}" cannot be mounted because it is inside /proc`)
}

const propagationNames: Record<number, BindMount['propagation']> = {
  [propagations.private]: 'private',
  [propagations.hostToContainer]: 'hostToContainer',
  [propagations.bidirectional]: 'bidirectional',
}

/** The kernel's own files are the same inside as here. */
async function presentPaths(paths: readonly string[], files: Files): Promise<{ path: string; isFile: boolean }[]> {
  const found: { path: string; isFile: boolean }[] = []
  for (const path of paths) {
    const stat = await files.statTarget(path)
    if (stat !== undefined) found.push({ path, isFile: stat.kind !== 'directory' })
  }
  return found
}

async function allowedDevices({ devices = [] }: Omit<ContainerConfig, 'envs'>, files: Files): Promise<AllowedDevice[]> {
  const found = await Promise.all(
    devices.map(async ({ hostPath, permissions }): Promise<AllowedDevice[]> => {
      const { kind, deviceNumber } = (await files.statTarget(hostPath)) ?? {}
      if ((kind !== 'blockDevice' && kind !== 'characterDevice') || deviceNumber === undefined) return []
      return [{ kind, ...deviceNumber, permissions: permissions || 'rwm' }]
    }),
  )
  return found.flat()
}

/** Those of the node; terminals and memory are the container's own. */
async function allDevices(files: Files, directory = '/dev'): Promise<{ source: string; target: string }[]> {
  const found: { source: string; target: string }[] = []
  for (const name of await files.list(directory)) {
    const path = join(directory, name)
    const kind = (await files.stat(path))?.kind
    if (kind === 'directory' && !['pts', 'shm', 'mqueue', 'fd'].includes(name)) found.push(...(await allDevices(files, path)))
    if (
      (kind === 'characterDevice' || kind === 'blockDevice') &&
      !['ptmx', 'console', 'null', 'zero', 'full', 'random', 'urandom', 'tty'].includes(name)
    ) {
      found.push({ source: path, target: path })
    }
  }
  return found
}
