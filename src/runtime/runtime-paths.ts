import { join } from 'node:path'

/** Where the runtime keeps what it has: all below one directory, which one agent at a time may use. */
export type RuntimePaths = ReturnType<typeof runtimePaths>

export function runtimePaths(root: string) {
  const container = (id: string) => {
    const directory = join(root, 'containers', id)
    return {
      directory,
      record: join(directory, 'container.json'),
      upper: join(directory, 'upper'),
      work: join(directory, 'work'),
      root: join(directory, 'root'),
      pipe: (stream: 'stdin' | 'stdout' | 'stderr') => join(directory, stream),
      /** What was still in a pipe when the container ended and no agent was there to read it. */
      leftover: (stream: 'stdout' | 'stderr') => join(directory, `${stream}.left`),
      exit: join(root, 'exits', id),
    }
  }
  const sandbox = (id: string) => {
    const directory = join(root, 'sandboxes', id)
    return {
      directory,
      record: join(directory, 'sandbox.json'),
      hostname: join(directory, 'hostname'),
      resolvConf: join(directory, 'resolv.conf'),
      sharedMemory: join(directory, 'shm'),
      empty: join(directory, 'empty'),
      /** A pipe that is written to by nobody, and ends with the sandbox's process. */
      lifeline: join(directory, 'lifeline'),
    }
  }
  return {
    root,
    images: join(root, 'images'),
    sandboxes: join(root, 'sandboxes'),
    containers: join(root, 'containers'),
    exits: join(root, 'exits'),
    /** Of an OCI runtime. */
    oci: join(root, 'oci'),
    lock: join(root, 'agent.lock'),
    socket: join(root, 'runtime.sock'),
    container,
    sandbox,
  }
}
