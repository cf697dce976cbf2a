/** Brings up a container's loopback. */
import { CniError, type CniPlugin } from '#network/cni/contract.ts'
import { containerIp } from '#network/cni/veth.ts'
import type { Link } from '#network/kernel/ip-tool.ts'

export const loopback: CniPlugin = {
  async add(request) {
    await containerIp(request).change(['link set lo up'])
    if (request.prevResult !== undefined) return request.prevResult
    return {
      interfaces: [{ name: 'lo', mac: '00:00:00:00:00:00', sandbox: request.netns }],
      ips: ['127.0.0.1/8', '::1/128'].map((address) => ({ address, interface: 0 })),
      routes: [],
      dns: {},
    }
  },
  async remove(request) {
    if (request.netns === '' || (await request.seams.files.stat(request.netns)) === undefined) return
    await containerIp(request).try(['link set lo down'])
  },
  async check(request) {
    const [link] = await containerIp(request).show<Link>('link', 'show', 'dev', 'lo')
    if (!link?.flags.includes('UP')) throw new CniError(100, 'loopback interface is down')
  },
}
