import { type Client, type ExtensionServer, type ExtensionServerOptions, registerExtensionServer, startExtensionServer } from '#index.ts'
import { banFlunder } from './ban-flunder.ts'
import { fischers } from './fischer.ts'
import { flunders } from './flunder.ts'

const kinds = [flunders, fischers]

/** Serves Flunder and Fischer, with names banned by fischers. */
export function startWardleServer(options: Omit<ExtensionServerOptions, 'kinds' | 'admission'>): Promise<ExtensionServer> {
  return startExtensionServer({ ...options, kinds, admission: ({ objects }) => [banFlunder(objects)] })
}

export function registerWardleServer(client: Client, service: { namespace: string; name: string }, caBundle: string): Promise<void> {
  return registerExtensionServer(client, { kinds, service, caBundle })
}
