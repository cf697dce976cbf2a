/** Steps into users of a pod's own, and files shown as those users see them. */
import { cloneFlags, here, openFlags } from '#runtime/launch/kernel-numbers.ts'
import { descriptors } from '#runtime/launch/launch-program.ts'
import type { LaunchScript, Place } from '#runtime/launch/launch-script.ts'

/** What the status descriptor is told by a process that has made a user namespace, and waits for a byte. */
export const usersNews = 3n

const mapUsers = 0x100000
const emptyPath = 0x1000
const withAllBelow = 0x8000
const duplicateDescriptor = 1030
/** Beyond all that are opened one after the other, and below what every process may have. */
const mappedDescriptor = 1001
const attributeBytes = 32
const namespaceOffset = 24

export const mapFlags = emptyPath

/** What `mount_setattr` is told. */
export function mapAttributes(namespace: number): Buffer {
  const attributes = Buffer.alloc(attributeBytes)
  attributes.writeUInt32LE(mapUsers)
  attributes.writeUInt32LE(namespace, namespaceOffset)
  return attributes
}

/** Makes a user namespace; whoever started us says who is who in it. */
export function makeUsers(script: LaunchScript): void {
  script.call('unshare', [cloneFlags.newUser], { what: 'make a user namespace' })
  const asked = Buffer.alloc(16)
  asked.writeBigInt64LE(usersNews)
  script.call('write', [descriptors.status, script.bytes(asked), 16])
  script.call('read', [descriptors.status, script.word(), 1], { what: 'wait for the users of the pod' })
  becomeRoot(script)
}

/** Until now we were one of the node's: nobody that is known here. */
export function becomeRoot(script: LaunchScript): void {
  script.call('setgroups', [0, 0], { what: 'leave the groups of the node' })
  script.call('setresgid', [0, 0, 0], { what: 'become root of the pod' })
  script.call('setresuid', [0, 0, 0], { what: 'become root of the pod' })
}

/** Shows trees of files with the users of a namespace: what belongs to the node's root belongs to the pod's. */
export class MappedTrees {
  readonly #script: LaunchScript
  readonly #attributes: Place

  constructor(script: LaunchScript, namespacePath: string) {
    this.#script = script
    this.#attributes = script.bytes(mapAttributes(0))
    script.call('openat', [here, namespacePath, openFlags.closeOnExec], {
      what: 'open the user namespace',
      result: { kind: 'memory', at: this.#attributes.at + namespaceOffset },
    })
  }

  /** Of what was opened and is mounted nowhere; resolves to the step that has it open. */
  map(tree: Place, path: string): Place {
    const script = this.#script
    script.feed(tree, script.call('dup3', [0, mappedDescriptor, openFlags.closeOnExec]), 0)
    const [alone, done] = [script.later(), script.later()]
    const how = (flags: number) => [mappedDescriptor, '', flags, this.#attributes, attributeBytes]
    script.call('mount_setattr', how(mapFlags | withAllBelow), { onError: alone })
    script.jump(done)
    script.settle(alone)
    // What is mounted below it may be of a kind that cannot be shown so.
    script.call('mount_setattr', how(mapFlags), { what: `map the users of ${path}` })
    script.settle(done)
    return script.call('fcntl', [mappedDescriptor, duplicateDescriptor, 0])
  }
}
