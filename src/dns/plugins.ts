import type { DnsPlugin } from '#dns/plugin.ts'
import { autopath } from '#dns/plugins/autopath.ts'
import { cache } from '#dns/plugins/cache.ts'
import { errors } from '#dns/plugins/errors.ts'
import { forward } from '#dns/plugins/forward.ts'
import { hosts } from '#dns/plugins/hosts.ts'
import { kubernetes } from '#dns/plugins/kubernetes.ts'
import { bind, bufsize, health, prometheus, ready, reload } from '#dns/plugins/listening.ts'
import { loadbalance } from '#dns/plugins/loadbalance.ts'
import { log } from '#dns/plugins/log.ts'
import { loop } from '#dns/plugins/loop.ts'
import { rewrite } from '#dns/plugins/rewrite.ts'
import { template } from '#dns/plugins/template.ts'

/** All there are, in the order in which a question goes through them, whatever their order in the file. CoreDNS' order. */
export const dnsPlugins: readonly DnsPlugin[] = [
  reload,
  bufsize,
  bind,
  ready,
  health,
  prometheus,
  errors,
  log,
  loadbalance,
  cache,
  rewrite,
  autopath,
  template,
  hosts,
  kubernetes,
  loop,
  forward,
]
