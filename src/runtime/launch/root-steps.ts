/**
 * A container's own tree of files. What is bound into it is opened while the node's tree is still there, and put to its place when it is gone:
 * then no link in an image or a volume can lead anywhere but within the container.
 */
import { posix } from 'node:path'
import { mountFlags as flags, here, moveMountFlags, openFlags, openTreeFlags } from '#runtime/launch/kernel-numbers.ts'
import type { LaunchScript, Place } from '#runtime/launch/launch-script.ts'
import type { BindMount, ContainerSpec } from '#runtime/launch/process-spec.ts'

const { noSuid, noDev, noExec, readOnly, remount, bind, recursive } = flags
const safe = noSuid | noDev | noExec
const detach = 2

/** Those every program expects. */
const usualDevices = ['null', 'zero', 'full', 'random', 'urandom', 'tty']

export function enterRoot(script: LaunchScript, spec: ContainerSpec): void {
  const tree = (path: string, isRecursive = false) =>
    script.call('open_tree', [here, path, openTreeFlags.clone | openTreeFlags.closeOnExec | (isRecursive ? openTreeFlags.recursive : 0)], {
      what: `open ${path}`,
    })
  const devices = [...usualDevices.map((name) => ({ source: `/dev/${name}`, target: `/dev/${name}` })), ...spec.devices]
  const opened = devices.map(({ source, target }) => ({ step: tree(source), target }))
  const mask = spec.maskedPaths.filter(({ isFile }) => isFile).map(({ path }) => ({ step: tree('/dev/null'), target: path }))
  const binds = spec.mounts.map((mount) => ({ step: tree(mount.source, true), mount }))
  const memory = tree(spec.hasNodeIpc ? '/dev/shm' : spec.sharedMemory)
  const queues = spec.hasNodeIpc && spec.bindsSys ? tree('/dev/mqueue') : undefined
  const sys = spec.bindsSys ? tree('/sys', true) : undefined
  mountRoot(script, spec)
  script.call('mount', ['proc', '/proc', 'proc', safe, 0], { what: 'mount /proc' })
  mountSys(script, spec, sys)
  mountDev(script, spec, memory, queues)
  for (const { step, target } of opened) {
    makePlace(script, target, true)
    attach(script, step, target)
  }
  for (const { step, mount } of binds) bindMount(script, step, mount)
  if (!spec.isPrivileged) {
    for (const { step, target } of mask) attach(script, step, target)
    for (const { path, isFile } of spec.maskedPaths) {
      if (!isFile) script.call('mount', ['tmpfs', path, 'tmpfs', readOnly | safe, 'size=0'], { what: `mask ${path}` })
    }
    for (const path of spec.readonlyPaths) {
      script.call('mount', [path, path, 0, bind | recursive, 0], { what: `mount ${path}` })
      script.call('mount', [0, path, 0, bind | remount | readOnly | safe, 0], { what: `mount ${path} read-only` })
    }
  }
  makeDirectories(script, spec.process.directory)
  if (spec.root.isReadOnly)
    script.call('mount', [0, '/', 0, bind | remount | readOnly | rootFlags(spec), 0], { what: 'make the root read-only' })
}

/** Devices of an image do not work: those a container may use are bound from the node. */
const rootFlags = ({ isPrivileged }: ContainerSpec): number => (isPrivileged ? 0 : noDev)

function mountRoot(script: LaunchScript, spec: ContainerSpec): void {
  const { lowerDirectories, upperDirectory, workDirectory, mountPoint, hasUserAttributes } = spec.root
  // What is mounted from here on is nobody else's, and what the node mounts still comes.
  script.call('mount', [0, '/', 0, flags.recursive | flags.slave, 0], { what: 'keep mounts to ourselves' })
  const data = [
    `lowerdir=${lowerDirectories.map(escaped).join(':')}`,
    `upperdir=${escaped(upperDirectory)}`,
    `workdir=${escaped(workDirectory)}`,
    ...(hasUserAttributes ? ['userxattr'] : []),
  ].join(',')
  script.call('mount', ['overlay', mountPoint, 'overlay', rootFlags(spec), data], { what: 'mount the root of the container' })
  script.call('chdir', [mountPoint])
  // Puts the old root above the new one, from where it is taken off: no place in the image is needed for it.
  script.call('pivot_root', ['.', '.'], { what: 'pivot_root' })
  script.call('umount2', ['.', detach], { what: 'leave the root of the node' })
  script.call('chdir', ['/'])
  for (const path of ['/proc', '/sys', '/dev']) script.call('mkdirat', [here, path, 0o755], { onError: 'next' })
}

const escaped = (path: string): string => path.replace(/[\\:,]/g, (character) => `\\${character}`)

function mountSys(script: LaunchScript, spec: ContainerSpec, sys: Place | undefined): void {
  const how = spec.isPrivileged ? 0 : readOnly
  if (sys !== undefined) {
    attach(script, sys, '/sys')
    if (!spec.isPrivileged) script.call('mount', [0, '/sys', 0, bind | remount | readOnly | safe, 0], { onError: 'next' })
    return
  }
  script.call('mount', ['sysfs', '/sys', 'sysfs', safe | how, 0], { what: 'mount /sys' })
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

function mountDev(script: LaunchScript, spec: ContainerSpec, memory: Place, queues: Place | undefined): void {
  // Devices made there by the container do not work either; those of the node are bound, with the node's own leave.
  const own = noSuid | (spec.isPrivileged ? 0 : noDev)
  script.call('mount', ['tmpfs', '/dev', 'tmpfs', own | flags.strictTime, 'mode=755,size=65536k'], { what: 'mount /dev' })
  for (const name of ['pts', 'shm', 'mqueue']) script.call('mkdirat', [here, `/dev/${name}`, 0o755])
  const group = spec.process.maySetGroups ? ',gid=5' : ''
  script.call('mount', ['devpts', '/dev/pts', 'devpts', noSuid | noExec, `newinstance,ptmxmode=0666,mode=0620${group}`], {
    what: 'mount /dev/pts',
  })
  attach(script, memory, '/dev/shm')
  if (queues !== undefined) attach(script, queues, '/dev/mqueue')
  else script.call('mount', ['mqueue', '/dev/mqueue', 'mqueue', safe, 0], { what: 'mount /dev/mqueue' })
  const links = { ptmx: 'pts/ptmx', fd: '/proc/self/fd', stdin: '/proc/self/fd/0', stdout: '/proc/self/fd/1', stderr: '/proc/self/fd/2' }
  for (const [name, target] of Object.entries(links)) script.call('symlinkat', [target, here, `/dev/${name}`])
}

function bindMount(script: LaunchScript, step: Place, mount: BindMount): void {
  const { target, isFile, isReadOnly, isRecursivelyReadOnly, propagation, isTrusted } = mount
  makePlace(script, target, isFile)
  attach(script, step, target)
  const kind = { private: flags.private, hostToContainer: flags.slave, bidirectional: flags.shared }[propagation]
  script.call('mount', [0, target, 0, kind | recursive, 0], { what: `set how mounts below ${target} propagate` })
  const limits = (isReadOnly ? readOnly : 0) | (isTrusted ? 0 : noDev)
  if (limits === 0) return
  if (!isRecursivelyReadOnly) {
    script.call('mount', [0, target, 0, bind | remount | limits, 0], { what: `mount ${target}${isReadOnly ? ' read-only' : ''}` })
    return
  }
  const attributes = Buffer.alloc(32)
  attributes.writeUInt32LE(limits & (readOnly | noDev))
  script.call('mount_setattr', [here, target, openTreeFlags.recursive, script.bytes(attributes), attributes.length], {
    what: `mount ${target} read-only with all below it`,
  })
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
  const parts = posix.normalize(path).split('/').filter(Boolean)
  for (let depth = 1; depth <= parts.length; depth++) {
    script.call('mkdirat', [here, `/${parts.slice(0, depth).join('/')}`, 0o755], { onError: 'next' })
  }
}

export const openForWriting = openFlags.writeOnly | openFlags.closeOnExec
