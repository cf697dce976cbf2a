import { BlockList, isIP } from 'node:net'

/** One entry of `NO_PROXY`: names and what is below them, addresses and ranges of them, with a port or without. */
export function isWithoutProxy(hostname: string, port: string, exception: string): boolean {
  if (exception === '*') return true
  const address = hostname.replace(/^\[|\]$/g, '')
  const [range = '', bits] = exception.split('/')
  if (bits !== undefined) {
    const [family, ownFamily] = [isIP(range), isIP(address)]
    if (family === 0 || family !== ownFamily) return false
    const list = new BlockList()
    const kind = family === 4 ? 'ipv4' : 'ipv6'
    list.addSubnet(range, Number(bits), kind)
    return list.check(address, kind)
  }
  const match = isIP(exception) === 6 ? null : /^(.*):(\d+)$/.exec(exception)
  if (match !== null && match[2] !== port) return false
  const name = (match?.[1] ?? exception).replace(/^\[|\]$/g, '').replace(/^\*(?=\.)/, '')
  return address === name || (isIP(address) === 0 && address.endsWith(name.startsWith('.') ? name : `.${name}`))
}
