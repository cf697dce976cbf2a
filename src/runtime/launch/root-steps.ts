/**
 * A container's own tree of files. What is bound into it is opened while the node's tree is still there, and put to its place when it is gone:
 * then no link in an image or a volume can lead anywhere but within the container.
 */
import { posix } from 'node:path'
import { mountFlags as flags, here, moveMountFlags, openFlags, openTreeFlags } from '#runtime/launch/kernel-numbers.ts'
import type { LaunchScript, Place } from '#runtime/launch/launch-script.ts'
import type { BindMount, ContainerSpec, ImagePart, RootPart, RootSpec } from '#runtime/launch/process-spec.ts'
import { MappedTrees } from '#runtime/launch/user-steps.ts'

const { noSuid, noDev, noExec, readOnly, remount, bind, recursive } = flags
const safe = noSuid | noDev | noExec
const detach = 2
const createFileSystem = 6
const setWord = 1
/** Beyond all that are opened one after the other, and below what every process may have. */
const fileSystemDescriptor = 1000

/** Those every program expects. */
const usualDevices = ['null', 'zero', 'full', 'random', 'urandom', 'tty']

/** What is opened, and mounted nowhere that the container could see yet. */
export type OpenedRoot = {
  devices: OpenedTree[]
  masks: OpenedTree[]
  binds: { step: Place; mount: Omit<BindMount, 'source'> }[]
  memory: Place
  proc: Place | undefined
  sys: Place | undefined
  /** With users of the pod's own: to be mounted by them. */
  root: Place | undefined
}
type OpenedTree = { step: Place; target: string }

/** With the rights of the node. */
export function openRoot(script: LaunchScript, spec: ContainerSpec): OpenedRoot {
  const mapped = spec.users === undefined ? undefined : new MappedTrees(script, spec.users.namespacePath)
  const tree = (path: string, isRecursive = false) =>
    script.call('open_tree', [here, path, openTreeFlags.clone | openTreeFlags.closeOnExec | (isRecursive ? openTreeFlags.recursive : 0)], {
      what: `open ${path}`,
    })
  const devices = [...usualDevices.map((name) => ({ source: `/dev/${name}`, target: `/dev/${name}` })), ...spec.devices]
  const opened = devices.map(({ source, target }) => ({ step: tree(source), target }))
  const masks = spec.maskedPaths.filter(({ isFile }) => isFile).map(({ path }) => ({ step: tree('/dev/null'), target: path }))
  const shown = (step: Place, path: string, { isMapped }: { isMapped: boolean }) => (isMapped ? (mapped?.map(step, path) ?? step) : step)
  // Opened before mounts are our own: what is mounted below some of them has to reach the node.
  const binds = spec.mounts.flatMap(({ source, ...mount }) =>
    typeof source === 'string' ? [{ step: shown(tree(source, true), source, mount), mount }] : [],
  )
  const memory = tree(spec.hasNodeIpc ? '/dev/shm' : spec.sharedMemory)
  const isRootless = spec.root.hasUserAttributes
  // In a user namespace the kernel shows its own files only to who can see them already: while the node's tree is there.
  const ownProc = isRootless ? () => kernelFiles(script, 'proc', safe) : () => undefined
  const proc = spec.bindsProc ? tree('/proc', true) : ownProc()
  const ownSys = isRootless ? () => kernelFiles(script, 'sysfs', safe | (spec.isPrivileged ? 0 : readOnly)) : () => undefined
  const sys = spec.bindsSys ? tree('/sys', true) : ownSys()
  // What is mounted from here on is nobody else's, and what the node mounts still comes.
  script.call('mount', [0, '/', 0, flags.recursive | flags.slave, 0], { what: 'keep mounts to ourselves' })
  const placeOf = mapped === undefined ? (layer: string) => layer : mapLayers(script, spec, mapped, tree)
  for (const { source, ...mount } of spec.mounts) {
    if (typeof source === 'string') continue
    const image = { ...source, lowerDirectories: source.lowerDirectories.map(placeOf) }
    binds.push({ step: imageTree(script, image, spec, tree), mount })
  }
  // What lies in another comes after it.
  binds.sort((one, other) => depthOf(one.mount) - depthOf(other.mount))
  const { parts, mountPoint, lowerDirectories } = spec.root
  if (parts === undefined) mountLayers(script, spec, mountPoint, { ...spec.root, lowerDirectories: lowerDirectories.map(placeOf) })
  else mountParts(script, spec, parts)
  // Where the pod's users cannot go by its path they can by being there.
  if (mapped !== undefined) script.call('chdir', [mountPoint])
  const root = mapped === undefined ? undefined : tree(spec.root.mountPoint)
  return { devices: opened, masks, binds, memory, proc, sys, root }
}

/** Runs in the mount namespace that is the container's. */
export function enterRoot(script: LaunchScript, spec: ContainerSpec, { devices, masks, binds, memory, root, ...own }: OpenedRoot): void {
  const { proc, sys } = root === undefined ? own : ownKernelFiles(script, spec)
  if (root === undefined) script.call('chdir', [spec.root.mountPoint])
  else enterMount(script, root)
  leaveNode(script)
  if (proc !== undefined) attach(script, proc, '/proc')
  else script.call('mount', ['proc', '/proc', 'proc', safe, 0], { what: 'mount /proc' })
  mountSys(script, spec, sys)
  mountDev(script, spec, memory)
  for (const { step, target } of devices) {
    makePlace(script, target, true)
    attach(script, step, target)
  }
  for (const { step, mount } of binds) bindMount(script, spec, step, mount)
  if (!spec.isPrivileged) {
    for (const { step, target } of masks) attach(script, step, target)
    for (const { path, isFile } of spec.maskedPaths) {
      if (!isFile) script.call('mount', ['tmpfs', path, 'tmpfs', readOnly | safe, 'size=0'], { what: `mask ${path}` })
    }
    for (const path of spec.readonlyPaths) {
      script.call('mount', [path, path, 0, bind | recursive, 0], { what: `mount ${path}` })
      limit(script, spec, path, readOnly | safe, 'read-only')
    }
  }
  makeDirectories(script, spec.process.directory)
  if (!spec.root.isReadOnly) return
  for (const { kind, path } of spec.root.parts ?? [])
    if (kind === 'layer') limit(script, spec, path, readOnly | rootFlags(spec), 'read-only')
  limit(script, spec, '/', readOnly | rootFlags(spec), 'read-only')
}

/** Mounted, but nowhere yet. */
export function kernelFiles(
  script: LaunchScript,
  type: 'proc' | 'sysfs' | 'tmpfs',
  attributes: number,
  words: Record<string, string> = {},
): Place {
  const what = `mount ${type}`
  const opened = script.call('fsopen', [type, 1], { what })
  script.feed(opened, script.call('dup3', [0, fileSystemDescriptor, openFlags.closeOnExec]), 0)
  for (const [key, value] of Object.entries(words)) script.call('fsconfig', [fileSystemDescriptor, setWord, key, value, 0], { what })
  script.call('fsconfig', [fileSystemDescriptor, createFileSystem, 0, 0, 0], { what })
  return script.call('fsmount', [fileSystemDescriptor, 1, attributes], { what })
}

/** Devices of an image do not work: those a container may use are bound from the node. */
const rootFlags = ({ isPrivileged }: ContainerSpec): number => (isPrivileged ? 0 : noDev)

/**
 * Sets what is not allowed at a mount. In a user namespace what the node has forbidden there must stay so, and the older call would allow it
 * again; kernels before 5.12 know that one alone.
 */
function limit(
  script: LaunchScript,
  { root, users }: ContainerSpec,
  target: string,
  limits: number,
  how: string,
  isRecursive = false,
): void {
  const what = `mount ${target} ${how}`.trim()
  if (!isRecursive && !root.hasUserAttributes && users === undefined) {
    script.call('mount', [0, target, 0, bind | remount | limits, 0], { what })
    return
  }
  const attributes = Buffer.alloc(32)
  attributes.writeUInt32LE(limits & (readOnly | safe))
  const depth = isRecursive ? openTreeFlags.recursive : 0
  script.call('mount_setattr', [here, target, depth, script.bytes(attributes), attributes.length], { what })
}

export function mountLayers(
  script: LaunchScript,
  spec: ContainerSpec,
  at: string,
  { lowerDirectories, upperDirectory, workDirectory }: Pick<RootSpec, 'lowerDirectories' | 'upperDirectory' | 'workDirectory'>,
): void {
  const data = [
    `lowerdir=${lowerDirectories.map(escaped).join(':')}`,
    `upperdir=${escaped(upperDirectory)}`,
    `workdir=${escaped(workDirectory)}`,
    ...(spec.root.hasUserAttributes ? ['userxattr'] : []),
  ].join(',')
  script.call('mount', ['overlay', at, 'overlay', rootFlags(spec), data], { what: 'mount the root of the container' })
}

/** The directory of what the container writes is the root, and the parts are mounted in it. */
function mountParts(script: LaunchScript, spec: ContainerSpec, parts: readonly RootPart[]): void {
  const { upperDirectory, mountPoint } = spec.root
  script.call('mount', [upperDirectory, mountPoint, 0, bind, 0], { what: 'mount the root of the container' })
  if (rootFlags(spec) !== 0) limit(script, spec, mountPoint, rootFlags(spec), 'without devices')
  for (const part of parts) {
    const at = `${mountPoint}${part.path}`
    if (part.kind === 'link') script.call('symlinkat', [part.target, here, at], { what: `make ${part.path}` })
    else script.call('mkdirat', [here, at, 0o755], { what: `make ${part.path}` })
    if (part.kind === 'directory') script.call('fchmodat', [here, at, part.mode])
    if (part.kind === 'layer') mountLayers(script, spec, at, { ...part, lowerDirectories: [part.path] })
    if (part.kind === 'bind') {
      script.call('mount', [part.path, at, 0, bind | recursive, 0], { what: `mount ${part.path}` })
      limit(script, spec, at, readOnly | rootFlags(spec), 'read-only', true)
    }
  }
}

/**
 * Mounts layers above themselves, with the users of the pod, for who is in this mount namespace: images are kept once for all. The node's own
 * root has no place above itself, so it is mounted where the container's will be.
 */
function mapLayers(script: LaunchScript, { root, mounts }: ContainerSpec, mapped: MappedTrees, tree: (path: string) => Place) {
  const placeOf = (layer: string) => (layer === '/' ? root.mountPoint : layer)
  const images = mounts.flatMap(({ source }) => (typeof source === 'string' ? [] : source.lowerDirectories))
  for (const layer of new Set([...root.lowerDirectories, ...images])) attach(script, mapped.map(tree(layer), layer), placeOf(layer))
  return placeOf
}

/** While the node's own are in sight: the kernel shows them only to who can see them already. */
function ownKernelFiles(script: LaunchScript, { isPrivileged }: ContainerSpec): { proc: Place; sys: Place } {
  return { proc: kernelFiles(script, 'proc', safe), sys: kernelFiles(script, 'sysfs', safe | (isPrivileged ? 0 : readOnly)) }
}

/** Mounts it above the directory that we are in, and goes there. */
export function enterMount(script: LaunchScript, tree: Place): void {
  script.feed(tree, script.call('dup3', [0, fileSystemDescriptor, openFlags.closeOnExec]), 0)
  script.call('move_mount', [fileSystemDescriptor, '', here, '.', moveMountFlags.emptyFrom], { what: 'mount the root' })
  script.call('fchdir', [fileSystemDescriptor], { what: 'enter the root' })
}

function leaveNode(script: LaunchScript): void {
  // Puts the old root above the new one, from where it is taken off: no place in the image is needed for it.
  script.call('pivot_root', ['.', '.'], { what: 'pivot_root' })
  script.call('umount2', ['.', detach], { what: 'leave the root of the node' })
  script.call('chdir', ['/'])
  for (const path of ['/proc', '/sys', '/dev']) script.call('mkdirat', [here, path, 0o755], { onError: 'next' })
}

/** What the kernel takes, with the zero at its end. */
const longestPath = 4096

const depthOf = ({ target }: { target: string }): number => target.split('/').length

/** An image has one layer or several, which are put together where the root will be, and taken off again: what was opened stays. */
function imageTree(
  script: LaunchScript,
  { lowerDirectories, path }: ImagePart,
  { root }: ContainerSpec,
  tree: (path: string) => Place,
): Place {
  const [only = '', ...others] = lowerDirectories
  if (others.length === 0) return tree(posix.join(only, path))
  const data = [`lowerdir=${lowerDirectories.map(escaped).join(':')}`, ...(root.hasUserAttributes ? ['userxattr'] : [])].join(',')
  script.call('mount', ['overlay', root.mountPoint, 'overlay', readOnly | noDev | noSuid, data], { what: 'mount the image of a volume' })
  const step = tree(posix.join(root.mountPoint, path))
  script.call('umount2', [root.mountPoint, detach], { what: 'leave the image of a volume' })
  return step
}

const escaped = (path: string): string => path.replace(/[\\:,]/g, (character) => `\\${character}`)

function mountSys(script: LaunchScript, spec: ContainerSpec, sys: Place | undefined): void {
  const how = spec.isPrivileged ? 0 : readOnly
  if (sys !== undefined) {
    attach(script, sys, '/sys')
    if (!spec.isPrivileged) limit(script, spec, '/sys', readOnly | safe, 'read-only')
    if (spec.users === undefined) return
  } else script.call('mount', ['sysfs', '/sys', 'sysfs', safe | how, 0], { what: 'mount /sys' })
  if (!spec.hasCgroupNamespace) return
  const { version, controllers } = spec.cgroups
  if (version === 2) {
    script.call('mount', ['cgroup', '/sys/fs/cgroup', 'cgroup2', safe | how, 0], { what: 'mount /sys/fs/cgroup' })
    return
  }
  script.call('mount', ['tmpfs', '/sys/fs/cgroup', 'tmpfs', safe, 'mode=755,size=64k'], { what: 'mount /sys/fs/cgroup' })
  for (const controller of controllers) {
    const path = `/sys/fs/cgroup/${controller}`
    script.call('mkdirat', [here, path, 0o755])
    script.call('mount', ['cgroup', path, 'cgroup', safe | how, controller], { what: `mount ${path}`, onError: 'next' })
  }
  script.call('mount', [0, '/sys/fs/cgroup', 0, remount | bind | safe | readOnly, 0], { onError: 'next' })
}

function mountDev(script: LaunchScript, spec: ContainerSpec, memory: Place): void {
  // Devices made there by the container do not work either; those of the node are bound, with the node's own leave.
  const own = noSuid | (spec.isPrivileged ? 0 : noDev)
  script.call('mount', ['tmpfs', '/dev', 'tmpfs', own | flags.strictTime, 'mode=755,size=65536k'], { what: 'mount /dev' })
  for (const name of ['pts', 'shm', 'mqueue']) script.call('mkdirat', [here, `/dev/${name}`, 0o755])
  const group = spec.process.maySetGroups ? ',gid=5' : ''
  script.call('mount', ['devpts', '/dev/pts', 'devpts', noSuid | noExec, `newinstance,ptmxmode=0666,mode=0620${group}`], {
    what: 'mount /dev/pts',
  })
  attach(script, memory, '/dev/shm')
  script.call('mount', ['mqueue', '/dev/mqueue', 'mqueue', safe, 0], { what: 'mount /dev/mqueue' })
  const links = { ptmx: 'pts/ptmx', fd: '/proc/self/fd', stdin: '/proc/self/fd/0', stdout: '/proc/self/fd/1', stderr: '/proc/self/fd/2' }
  for (const [name, target] of Object.entries(links)) script.call('symlinkat', [target, here, `/dev/${name}`])
}

function bindMount(script: LaunchScript, spec: ContainerSpec, step: Place, mount: Omit<BindMount, 'source'>): void {
  const { target, isFile, isReadOnly, isRecursivelyReadOnly, propagation, isTrusted } = mount
  makePlace(script, target, isFile)
  attach(script, step, target)
  const kind = { private: flags.private, hostToContainer: flags.slave, bidirectional: flags.shared }[propagation]
  script.call('mount', [0, target, 0, kind | recursive, 0], { what: `set how mounts below ${target} propagate` })
  const limits = (isReadOnly ? readOnly : 0) | (isTrusted ? 0 : noDev)
  if (limits === 0) return
  const how = isRecursivelyReadOnly ? 'read-only with all below it' : isReadOnly ? 'read-only' : ''
  limit(script, spec, target, limits, how, isRecursivelyReadOnly)
}

function attach(script: LaunchScript, tree: Place, target: string): void {
  const flagsOfMove = moveMountFlags.emptyFrom | moveMountFlags.followTarget
  const move = script.call('move_mount', [0, '', here, target, flagsOfMove], { what: `mount ${target}` })
  script.feed(tree, move, 0)
}

/** What is there stays as it is. */
function makePlace(script: LaunchScript, target: string, isFile: boolean): void {
  makeDirectories(script, isFile ? posix.dirname(target) : target)
  if (isFile) script.call('mknodat', [here, target, 0o100644, 0], { onError: 'next' })
}

function makeDirectories(script: LaunchScript, path: string): void {
  // The kernel's own word, before each part of it is made a step.
  if (path.length >= longestPath) throw new Error(`mkdir ${path.slice(0, 255)}…: file name too long`)
  const parts = posix.normalize(path).split('/').filter(Boolean)
  for (let depth = 1; depth <= parts.length; depth++) {
    script.call('mkdirat', [here, `/${parts.slice(0, depth).join('/')}`, 0o755], { onError: 'next' })
  }
}

export const openForWriting = openFlags.writeOnly | openFlags.closeOnExec
