/** A small extension API server, as one would be written by hand: it believes the headers of whoever shows the right certificate, and serves one resource from memory. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { TLSSocket } from 'node:tls'
import { testAuthority } from '../contracts/certificates.ts'
import { textOf } from './webhook-server.ts'

export type Trust = { authority: string; allowedNames: readonly string[] }
export type Seen = { method: string; url: string; headers: IncomingMessage['headers']; commonName: string }

type Widget = { apiVersion: string; kind: string; metadata: Record<string, unknown> & { name: string; namespace: string }; spec?: object }

export type ExtensionServer = AsyncDisposable & {
  readonly caBundle: string
  readonly port: number
  /** Not loopback, which no endpoint may be at; undefined on a machine that has no other address. */
  readonly address: string | undefined
  readonly group: string
  readonly seen: Seen[]
  /** What it answers with, unless that says 'not here'; undefined: as it should. */
  misbehaves: ((request: IncomingMessage, response: ServerResponse) => unknown) | undefined
  /** Speaks aggregated discovery and OpenAPI 3. */
  isModern: boolean
}

export async function startExtensionServer(dnsNames: string[], group: string, trust: Trust): Promise<ExtensionServer> {
  const address = Object.values(networkInterfaces())
    .flat()
    .find((each) => each !== undefined && !each.internal && each.family === 'IPv4')?.address
  const own = testAuthority('extension')
  const { certificate, key } = own.issue('extension', { extendedKeyUsages: ['serverAuth'], subjectAltNames: { dnsNames } })
  const objects = new Map<string, Widget>()
  const watchers = new Set<ServerResponse>()
  let revision = 1
  const tell = (type: string, object: Widget) => {
    for (const watcher of watchers) watcher.write(`${JSON.stringify({ type, object })}\n`)
  }
  const server = createServer({ cert: certificate, key, ca: trust.authority, requestCert: true, rejectUnauthorized: false })
  const state: ExtensionServer = {
    caBundle: Buffer.from(own.pem).toString('base64'),
    get port() {
      return (server.address() as AddressInfo).port
    },
    address,
    group,
    seen: [],
    misbehaves: undefined,
    isModern: true,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  /** The certificate's name, if it is believed. */
  const believed = (request: IncomingMessage): string | undefined => {
    const socket = request.socket as TLSSocket
    const commonName = String(socket.getPeerCertificate()?.subject?.CN ?? '')
    state.seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, commonName })
    return socket.authorized && trust.allowedNames.includes(commonName) ? commonName : undefined
  }
  server.on('upgrade', (request, socket) => {
    socket.on('error', () => {})
    if (believed(request) === undefined) {
      socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
      return
    }
    const user = request.headers['x-remote-user'] ?? ''
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\nhello ${user}\n`)
    socket.on('data', (piece) => socket.write(String(piece).toUpperCase()))
  })
  server.on('request', async (request, response) => {
    const text = await textOf(request)
    if (text === undefined) return
    if (believed(request) === undefined) {
      send(response, 401, {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        message: 'Unauthorized',
        reason: 'Unauthorized',
        code: 401,
      })
      return
    }
    if (state.misbehaves !== undefined && state.misbehaves(request, response) !== 'not here') return
    const url = new URL(request.url ?? '/', 'https://extension')
    const document = documents(state, url.pathname, request)
    if (document !== undefined) {
      response.writeHead(200, { 'content-type': document.type, etag: document.etag })
      response.end(JSON.stringify(document.body))
      return
    }
    const match = new RegExp(`^/apis/${group}/v1/(?:namespaces/([^/]+)/)?widgets(?:/([^/]+))?$`).exec(url.pathname)
    if (match === null) {
      send(response, 404, { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', message: 'not found', code: 404 })
      return
    }
    const [, namespace = '', name] = match
    const inNamespace = [...objects.values()].filter(({ metadata }) => namespace === '' || metadata.namespace === namespace)
    if (request.method === 'POST') {
      const sent = JSON.parse(text) as Widget
      const metadata = {
        ...sent.metadata,
        namespace,
        uid: `uid-${revision}`,
        resourceVersion: String(++revision),
        creationTimestamp: '2026-01-01T00:00:00Z',
      }
      const widget = { ...sent, metadata }
      objects.set(`${namespace}/${metadata.name}`, widget)
      tell('ADDED', widget)
      send(response, 201, widget)
    } else if (request.method === 'DELETE') {
      const gone = name === undefined ? inNamespace : inNamespace.filter(({ metadata }) => metadata.name === name)
      for (const widget of gone) {
        objects.delete(`${widget.metadata.namespace}/${widget.metadata.name}`)
        tell('DELETED', widget)
      }
      send(response, 200, { kind: 'Status', apiVersion: 'v1', status: 'Success' })
    } else if (url.searchParams.get('watch') === 'true' || url.searchParams.get('watch') === '1') {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.flushHeaders()
      watchers.add(response)
      response.on('close', () => watchers.delete(response))
    } else if (name !== undefined) {
      const found = objects.get(`${namespace}/${name}`)
      const missing = {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        reason: 'NotFound',
        message: `widgets "${name}" not found`,
        code: 404,
      }
      send(response, found === undefined ? 404 : 200, found ?? missing)
    } else
      send(response, 200, {
        kind: 'WidgetList',
        apiVersion: `${group}/v1`,
        metadata: { resourceVersion: String(revision) },
        items: inNamespace,
      })
  })
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  return state
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'watch']

function documents({ group, isModern }: ExtensionServer, path: string, { headers }: IncomingMessage) {
  const json = (body: object) => ({ type: 'application/json', etag: '"1"', body })
  const groupVersion = `${group}/v1`
  if (path === '/apis' && isModern && headers.accept?.includes('APIGroupDiscoveryList')) {
    const resource = {
      resource: 'widgets',
      responseKind: { group, version: 'v1', kind: 'Widget' },
      scope: 'Namespaced',
      singularResource: 'widget',
      verbs,
      shortNames: ['wd'],
    }
    const items = [{ metadata: { name: group }, versions: [{ version: 'v1', resources: [resource] }] }]
    const type = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
    return { type, etag: '"1"', body: { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', items } }
  }
  if (path === '/apis') return json({ kind: 'APIGroupList', apiVersion: 'v1', groups: [] })
  if (path === `/apis/${groupVersion}`) {
    const resources = [{ name: 'widgets', singularName: 'widget', namespaced: true, kind: 'Widget', verbs, shortNames: ['wd'] }]
    return json({ kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources })
  }
  const name = 'com.example.v1.Widget'
  const kind = { group, version: 'v1', kind: 'Widget' }
  const schema = {
    type: 'object',
    description: 'Widget is a thing to try things with.',
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: { type: 'object', description: 'What it is like.', properties: { colour: { type: 'string', description: 'How it looks.' } } },
    },
    'x-kubernetes-group-version-kind': [kind],
  }
  const operation = {
    operationId: 'listWidget',
    responses: { 200: { description: 'OK' } },
    'x-kubernetes-action': 'list',
    'x-kubernetes-group-version-kind': kind,
  }
  const paths = { [`/apis/${groupVersion}/widgets`]: { get: operation }, '/apis/other.example.com/v1/': {} }
  if (path === '/openapi/v2')
    return json({ swagger: '2.0', info: { title: 'extension', version: '1' }, paths, definitions: { [name]: schema } })
  if (!isModern) return undefined
  if (path === '/openapi/v3')
    return json({ paths: { [`apis/${groupVersion}`]: { serverRelativeURL: `/openapi/v3/apis/${groupVersion}?hash=abc` } } })
  if (path === `/openapi/v3/apis/${groupVersion}`)
    return json({ openapi: '3.0.0', info: { title: 'extension', version: '1' }, paths, components: { schemas: { [name]: schema } } })
  return undefined
}
