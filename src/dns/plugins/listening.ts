/** Plugins that say where a server listens, and who may ask how it is. */
import { parseDuration } from '#dns/corefile/duration.ts'
import { type DnsPlugin, type HttpPart, wholeNumberAt, wrongOption } from '#dns/plugin.ts'
import { canonicalIp } from '#wire/dns/ip-bytes.ts'

export const bind: DnsPlugin = {
  name: 'bind',
  setup([{ args, line, block }]) {
    for (const option of block) throw wrongOption('bind', option)
    const hosts = args.map((address) => {
      const host = canonicalIp(address)
      if (host === undefined)
        throw new Error(`line ${line}: bind: ${address} is not a valid address; names of interfaces are not understood`)
      return host
    })
    return { bind: hosts }
  },
}

/** Keeps answers by UDP from being taken apart on the way. */
export const bufsize: DnsPlugin = {
  name: 'bufsize',
  setup([directive]) {
    const payloadBytes = wholeNumberAt(directive, 0, 1232)
    if (payloadBytes < 512 || payloadBytes > 4096) throw new Error(`line ${directive.line}: bufsize must be within 512 - 4096`)
    return { payloadBytes }
  },
}

export const health: DnsPlugin = {
  name: 'health',
  setup([{ args, block, line }]) {
    let drainMs = 0
    for (const option of block) {
      if (option.name !== 'lameduck') throw wrongOption('health', option)
      drainMs = parseDuration(option.args[0] ?? '', option.line)
    }
    return { drainMs, http: [{ ...httpAddress(args[0] ?? ':8080', line), path: '/health', answer: () => ({ status: 200, body: 'OK' }) }] }
  },
}

/** Whoever runs the server says what it waits for; this says where that is told. */
export const ready: DnsPlugin = {
  name: 'ready',
  setup([{ args, block, line }], { cluster }) {
    for (const option of block) throw wrongOption('ready', option)
    const answer = () => {
      const isReady = cluster?.hasSynced() ?? true
      return isReady ? { status: 200, body: 'OK' } : { status: 503, body: 'kubernetes' }
    }
    return { http: [{ ...httpAddress(args[0] ?? ':8181', line), path: '/ready', answer }] }
  },
}

/** The file is watched, so that what it says about when to look has no effect. */
export const reload: DnsPlugin = {
  name: 'reload',
  setup([{ args, line, block }]) {
    for (const option of block) throw wrongOption('reload', option)
    for (const time of args) parseDuration(time, line)
    return {}
  },
}

export const prometheus: DnsPlugin = {
  name: 'prometheus',
  setup([{ args, line, block }], { metricsText }) {
    for (const option of block) throw wrongOption('prometheus', option)
    return {
      http: [{ ...httpAddress(args[0] ?? 'localhost:9153', line), path: '/metrics', answer: () => ({ status: 200, body: metricsText() }) }],
    }
  },
}

function httpAddress(text: string, line: number): Pick<HttpPart, 'host' | 'port'> {
  const [, host = '', port] = /^(.*):(\d+)$/.exec(text) ?? []
  if (port === undefined) throw new Error(`line ${line}: ${text} is not a valid address and port such as :8080`)
  const name = host.replace(/^\[|\]$/g, '')
  return { host: name === '' ? '0.0.0.0' : name === 'localhost' ? '127.0.0.1' : name, port: Number(port) }
}
