//! Sets of numbers as sorted lists: one list, or one for each bucket of a hash table.
//!
//! A node is two words: its number, and the next node, which is 0 at the end of a list. Node 0 does
//! not exist. The first words are the heads of the lists.

use super::access::{Access, Op};
use super::set::{Ask, Asked, Layout};

#[derive(Clone, Copy)]
pub struct Lists {
    pub buckets: usize,
}

impl Lists {
    fn number(self, node: u64) -> usize {
        self.buckets + 2 * node as usize
    }

    fn next(self, node: u64) -> usize {
        self.number(node) + 1
    }
}

impl Layout for Lists {
    fn words(&self, nodes: usize) -> usize {
        self.buckets + 2 * nodes
    }

    #[inline]
    fn run<A: Access>(&self, ask: &Ask, words: &mut A) -> Result<Asked, A::Stop> {
        let (number, mut link) = match *ask {
            Ask::Contains(number) | Ask::Insert(number, _) | Ask::Remove(number) => {
                (number, number as usize % self.buckets)
            }
        };
        let (node, found) = loop {
            let node = words.get(link)?;
            if node == 0 {
                break (0, false);
            }
            let here = words.get(self.number(node))?;
            if here >= number {
                break (node, here == number);
            }
            link = self.next(node);
        };
        match *ask {
            Ask::Insert(number, spare) if !found => {
                words.set(self.number(spare), number)?;
                words.set(self.next(spare), node)?;
                words.set(link, spare)?;
                Ok(Asked::Changed(0))
            }
            Ask::Remove(_) if found => {
                let next = words.get(self.next(node))?;
                words.set(link, next)?;
                Ok(Asked::Changed(node))
            }
            _ => Ok(Asked::Found(found)),
        }
    }
}

/// Counts the numbers, and checks their order and buckets.
#[derive(Clone, Copy)]
pub struct Count(pub Lists);

impl Op for Count {
    type Out = u64;

    fn run<A: Access>(&self, words: &mut A) -> Result<u64, A::Stop> {
        let mut count = 0;
        for bucket in 0..self.0.buckets {
            let mut node = words.get(bucket)?;
            let mut last = None;
            while node != 0 {
                let number = words.get(self.0.number(node))?;
                assert!(last.is_none_or(|last| last < number), "a list is out of order");
                assert_eq!(number as usize % self.0.buckets, bucket, "a number is misplaced");
                last = Some(number);
                count += 1;
                node = words.get(self.0.next(node))?;
            }
        }
        Ok(count)
    }
}
