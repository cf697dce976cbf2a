import type { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { etcdMemberIdentities } from '#apiserver/pki/identities.ts'
import { nodeFiles } from '#base/files.ts'
import { readEtcdMember } from '#cmd/own-etcd/etcd-member.ts'

/** While the control plane runs; etcd reads its files again for every connection. */
export async function renewEtcdCertificates(keys: ClusterKeys, dataDir: string): Promise<void> {
  const member = await readEtcdMember(dataDir, nodeFiles)
  if (member !== undefined) await keys.add(etcdMemberIdentities(member.name, [member.address]))
}
