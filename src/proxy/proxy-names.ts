/** Names in the kernel, which all clusters on a machine share. */
export type ProxyNames = {
  nftTable: string
  /** Of chains of iptables and sets of ipset, in place of `KUBE`. */
  prefix: string
  /** The interface that has the addresses of services in ipvs. */
  ipvsInterface: string
  /** Undefined: as configured. */
  masqueradeBit: number | undefined
}

/** `clusterId`: hexadecimal, at least 6 digits; empty for the machine's default cluster, which has upstream's names. */
export function proxyNames(clusterId: string): ProxyNames {
  if (clusterId === '') return { nftTable: 'kube-proxy', prefix: 'KUBE', ipvsInterface: 'kube-ipvs0', masqueradeBit: undefined }
  const id = clusterId.slice(0, 6)
  return {
    nftTable: `kube-proxy-${id}`,
    prefix: `K${id}`,
    ipvsInterface: `kube-ipvs-${id.slice(0, 5)}`,
    // Upstream's agents have the lower ones.
    masqueradeBit: 16 + (Number.parseInt(id, 16) % 12),
  }
}
