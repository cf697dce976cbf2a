import { defineOptions, list, onOff, text } from '#base/options.ts'

const file = { placeholder: 'FILE', default: '' }

/** Extension API servers, and proxies in front of this one; names are the API server's. */
export const aggregationOptions = defineOptions({
  requestheaderClientCaFile: text('the certificate authority (CA) of front proxies that authenticate users by request headers', {
    ...file,
    defaultText: 'DATA-DIR/pki/front-proxy-ca.crt',
  }),
  requestheaderAllowedNames: list("the common names of those proxies' certificates (empty: any)", {
    placeholder: 'LIST',
    default: ['front-proxy-client'],
  }),
  requestheaderUsernameHeaders: list("the headers that hold the user's name", { placeholder: 'LIST', default: ['X-Remote-User'] }),
  requestheaderUidHeaders: list("the headers that hold the user's UID", { placeholder: 'LIST', default: ['X-Remote-Uid'] }),
  requestheaderGroupHeaders: list("the headers that hold the user's groups", { placeholder: 'LIST', default: ['X-Remote-Group'] }),
  requestheaderExtraHeadersPrefix: list('how headers begin that hold what else is known of the user', {
    placeholder: 'LIST',
    default: ['X-Remote-Extra-'],
  }),
  proxyClientCertFile: text('the certificate to show to extension API servers', {
    ...file,
    defaultText: 'one of the cluster, for front-proxy-client',
  }),
  proxyClientKeyFile: text('the private key of that certificate', file),
  enableAggregatorRouting: onOff('reach services by their endpoints only, never by the name of another host', { default: false }),
})
