/**
 * Several nodes on one machine share its files; where somebody else's network installs itself on each of them, each has to have the usual
 * directories to itself. A node then lives in a mount namespace too, which lasts as long as its containerd and its containers do.
 */
import { join } from 'node:path'
import type { Files } from '#base/files.ts'
import type { Processes } from '#base/processes.ts'
import { runningContainerd } from '#kubelet/runtimes/cri/private-containerd.ts'

const script = `for place in etc/cni opt/cni var/lib/cni; do
  mkdir -p "/$place" "$0/root/$place" && mount --bind "$0/root/$place" "/$place" || exit 1
done
mkdir -p /etc/cni/net.d /opt/cni/bin
exec "$@"`

/** What a command of the node begins with. */
export async function inNodeMounts(directory: string, seams: { files: Files; processes: Processes }): Promise<string[]> {
  const pid = await runningContainerd(join(directory, 'containerd'), seams)
  // Volumes that are mounted for containers must be where their runtime sees them.
  if (pid !== undefined) return ['nsenter', `--mount=/proc/${pid}/ns/mnt`, '--']
  return ['unshare', '--mount', '--propagation', 'slave', 'sh', '-c', script, directory]
}
