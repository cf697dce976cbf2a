import { Client } from '#client/client.ts'

/** Of a kubelet that has no API server: whatever is asked for fails. */
export const noApiClient = (): Client =>
  new Client({
    transport: { send: () => Promise.reject(new Error('the kubelet is standalone: it has no API server')) },
    userAgent: 'kubelet',
  })
