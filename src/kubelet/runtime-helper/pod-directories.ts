/** Where things of pods are on disk; the layout is upstream's, and other programs know it. */
import { join } from 'node:path'
import type { V1Pod } from '#api/core/v1/types.gen.ts'

export class PodDirectories {
  /** Without links, since the kernel names mounts so. */
  readonly root: string
  readonly logRoot: string

  constructor({ root, logRoot }: { root: string; logRoot: string }) {
    this.root = root
    this.logRoot = logRoot
  }

  get pods(): string {
    return join(this.root, 'pods')
  }
  pod(uid: string): string {
    return join(this.pods, uid)
  }
  volumes(uid: string): string {
    return join(this.pod(uid), 'volumes')
  }
  /** `plugin` is its full name, `kubernetes.io/empty-dir`. */
  volume(uid: string, plugin: string, volume: string): string {
    return join(this.volumes(uid), plugin.replaceAll('/', '~'), volume)
  }
  plugins(uid: string): string {
    return join(this.pod(uid), 'plugins')
  }
  /** What a plugin remembers of a volume. */
  pluginVolume(uid: string, plugin: string, volume: string): string {
    return join(this.plugins(uid), plugin.replaceAll('/', '~'), volume)
  }
  container(uid: string, container: string): string {
    return join(this.pod(uid), 'containers', container)
  }
  subPaths(uid: string): string {
    return join(this.pod(uid), 'volume-subpaths')
  }
  subPath(uid: string, volume: string, container: string, mountIndex: number): string {
    return join(this.subPaths(uid), volume, container, String(mountIndex))
  }
  hostsFile(uid: string): string {
    return join(this.pod(uid), 'etc-hosts')
  }
  logs({ metadata: { namespace = '', name = '', uid = '' } }: V1Pod): string {
    return join(this.logRoot, `${namespace}_${name}_${uid}`)
  }
  containerLogs(pod: V1Pod, container: string): string {
    return join(this.logs(pod), container)
  }
}
